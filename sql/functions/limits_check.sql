-- Checks of single values, shared by enqueue and by defaults. Raise: MR001.
create or replace function priority_check(p_priority text) returns smallint
language plpgsql immutable strict as $$
begin
  if p_priority !~ '^(10|[0-9])$' then
    perform raise_error('MR001', format('priority %s is not an integer from 0 to 10', p_priority), '0 is the most urgent, 5 the default');
  end if;
  return p_priority::smallint;
end $$;

-- max_attempts_check: an integer of at least 1, or "unlimited" (stored as the largest integer).
create or replace function max_attempts_check(p_max text) returns int
language plpgsql immutable strict as $$
begin
  if p_max = 'unlimited' then
    return 2147483647;
  elsif p_max !~ '^[1-9][0-9]{0,8}$' then
    perform raise_error('MR001', format('maxAttempts %s is not an integer of at least 1', p_max), 'give 1 or more, or "unlimited"');
  end if;
  return p_max::int;
end $$;

-- cost_check: a whole number from 1 to 1,000,000.
create or replace function cost_check(p_cost text) returns int
language plpgsql immutable strict as $$
begin
  if p_cost !~ '^([1-9][0-9]{0,5}|1000000)$' then
    perform raise_error('MR001', format('a cost of %s is not possible', p_cost), 'give an integer from 1 (the default) to 1000000');
  end if;
  return p_cost::int;
end $$;

-- ttl_check: seconds above 0, or "computed" (the infinity), whose end nobody knows before the first claim.
create or replace function ttl_check(p_ttl text) returns float8
language plpgsql immutable strict as $$
begin
  if p_ttl = 'computed' then
    return 'infinity';
  elsif p_ttl !~ '^[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,2})?$' or p_ttl::float8 <= 0 then
    perform raise_error('MR001', format('ttlSeconds cannot be %s', p_ttl), 'give more than 0 seconds, or "computed"');
  end if;
  return p_ttl::float8;
end $$;

-- keys_check: an object has no other keys than these. Raises: MR001.
create or replace function keys_check(p_what text, p_object jsonb, p_known text[]) returns void
language plpgsql immutable as $$
declare
  v_unknown constant text := (select k from jsonb_object_keys(p_object) k where k <> all (p_known) limit 1);
begin
  if v_unknown is not null then
    perform raise_error('MR001', format('%s: unknown key "%s"', p_what, v_unknown), 'use ' || regexp_replace(array_to_string(p_known, ', '), ', (\w+)$', ' and \1'));
  end if;
end $$;

-- name_check: text that ends in a column of limited length.
create or replace function name_check(p_what text, p_text text, p_length int default 200) returns text
language plpgsql immutable strict as $$
begin
  if length(p_text) not between 1 and p_length then
    perform raise_error('MR001', format('%s must have 1 to %s characters', p_what, p_length), null);
  end if;
  return p_text;
end $$;

-- text_check: PostgreSQL's text cannot hold NUL, so neither may a JSON string: whoever reads the job in SQL would fail.
create or replace function text_check(p_json text) returns void
language plpgsql immutable strict as $$
begin
  if strpos(p_json, '\u0000') > 0 and p_json ~ '(^|[^\\])(\\\\)*\\u0000' then
    perform raise_error('MR001', 'the input contains NUL', 'PostgreSQL text cannot hold it; use a payload for bytes');
  end if;
end $$;
