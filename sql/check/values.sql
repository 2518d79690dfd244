-- Checks of single values, shared by enqueue and by defaults. Raise: MR001.
create or replace function priority_check(p_priority text) returns smallint
language plpgsql immutable strict as $$
begin
  if p_priority !~ '^(10|[0-9])$' then
    perform raise_error('MR001', format('priority %s is not an integer from 0 to 10', p_priority),
      '0 is the most urgent, 5 the default');
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
    perform raise_error('MR001', format('maxAttempts %s is not an integer of at least 1', p_max),
      'give 1 or more, or "unlimited"');
  end if;
  return p_max::int;
end $$;

-- cost_check: a whole number from 1 to 1,000,000.
create or replace function cost_check(p_cost text) returns int
language plpgsql immutable strict as $$
begin
  if p_cost !~ '^([1-9][0-9]{0,5}|1000000)$' then
    perform raise_error('MR001', format('a cost of %s is not possible', p_cost),
      'give an integer from 1 (the default) to 1000000');
  end if;
  return p_cost::int;
end $$;

-- ttl_check: seconds from 0.001 on, or "computed" (the infinity), whose end nobody knows before the first claim.
create or replace function ttl_check(p_ttl text) returns float8
language plpgsql immutable strict as $$
begin
  if p_ttl = 'computed' then
    return 'infinity';
  elsif p_ttl !~ '^[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,2})?$'
    or p_ttl::float8 not between 0.001 and bound('seconds') then
    perform raise_error('MR001', format('ttlSeconds cannot be %s', left(p_ttl, 100)),
      format('give 0.001 to %s seconds, or "computed"', bound('seconds')));
  end if;
  return p_ttl::float8;
end $$;

-- seconds_check: a length of time from 0 on.
create or replace function seconds_check(p_what text, p_seconds float8) returns float8
language plpgsql immutable strict as $$
begin
  if p_seconds between 0 and bound('seconds') then
    return p_seconds;
  end if;
  perform raise_error('MR001', format('%s cannot be %s', p_what, p_seconds),
    format('give 0 to %s seconds', bound('seconds')));
end $$;

-- time_check: a time that every client can hold.
create or replace function time_check(p_what text, p_time timestamptz) returns timestamptz
language plpgsql immutable strict as $$
begin
  if p_time between time_first() and time_last() then
    return p_time;
  end if;
  perform raise_error('MR001', format('%s is out of range', p_what), 'give a time from 1970 to 9999');
end $$;

-- keys_check: an object has no other keys than these. Raises: MR001.
create or replace function keys_check(p_what text, p_object jsonb, p_known text[]) returns void
language plpgsql immutable as $$
declare
  v_unknown constant text := (select k from jsonb_object_keys(p_object) k where k <> all (p_known) limit 1);
begin
  if v_unknown is not null then
    perform raise_error('MR001', format('%s: unknown key "%s"', p_what, v_unknown),
      'use ' || regexp_replace(array_to_string(p_known, ', '), ', (\w+)$', ' and \1'));
  end if;
end $$;

-- name_check: text that ends in a column of limited length.
create or replace function name_check(p_what text, p_text text, p_length bigint default bound('nameLength'))
  returns text
language plpgsql immutable strict as $$
begin
  if length(p_text) not between 1 and p_length then
    perform raise_error('MR001', format('%s must have 1 to %s characters', p_what, p_length), null);
  end if;
  return p_text;
end $$;

-- json_check: a JSON value of at most p_most bytes that every reader can read: none of its strings holds NUL or half a
-- character, which PostgreSQL's text cannot hold either, and it is not nested deeper than any reader goes. Returns it
-- unchanged. Raises: MR001, MR004. Almost every value is neither long nor has an escape; of the others jsonb tells, in
-- one pass.
create or replace function json_check(p_what text, p_json json, p_most bigint default null) returns json
language plpgsql immutable as $$
declare
  v_text constant text := p_json::text;
  v_depth constant bigint := bound('jsonDepth');
begin
  if octet_length(v_text) > p_most then
    perform raise_error('MR004', format('%s: %s bytes are more than the limit of %s', p_what, octet_length(v_text),
      p_most), 'store it elsewhere and give a reference, or use a payload');
  elsif p_json is null or strpos(v_text, '\u') = 0 and (octet_length(v_text) <= 2 * v_depth
    or octet_length(v_text) - octet_length(replace(replace(v_text, '[', ''), '{', '')) <= v_depth) then
    return p_json;
  end if;
  begin
    if not jsonb_path_exists(v_text::jsonb, format('strict $.**{%s} ? (@.type() == "array" || @.type() == "object")',
      v_depth)::jsonpath) then
      return p_json;
    end if;
  exception
    when statement_too_complex then
      null;  -- deeper than can be told
    when untranslatable_character then
      perform raise_error('MR001', format('%s: a text contains NUL', p_what),
        'PostgreSQL text cannot hold it; use a payload for bytes');
    when data_exception or program_limit_exceeded then
      perform raise_error('MR001', format('%s: %s', p_what, sqlerrm),
        'give whole characters (a surrogate is half of one), and numbers that PostgreSQL can hold');
  end;
  perform raise_error('MR001', format('%s: nested deeper than %s levels', p_what, v_depth),
    'flatten it, or use a payload');
end $$;

-- input_check: an input as it is stored, when its escapes were looked at before; most are too short to be anything but
-- right. Only for a value in memory (json_array_elements), whose size is that of its text and of a header. Inlined.
create or replace function input_check(p_input json) returns json
language sql stable parallel safe as $$
  select case when pg_column_size(p_input) > 2 * bound('jsonDepth')
    then json_check('input', p_input, bound('inputBytes')) else p_input end
$$;

-- jsons_check: json_check for each element of a list. Raises: MR001, MR004.
create or replace function jsons_check(p_what text, p_list json, p_most bigint) returns void
language plpgsql immutable strict as $$
begin
  if octet_length(p_list::text) > 2 * bound('jsonDepth') or strpos(p_list::text, '\u') > 0 then
    perform json_check(p_what, e.value, p_most) from json_array_elements(p_list) e
      where octet_length(e.value::text) > 2 * bound('jsonDepth') or strpos(e.value::text, '\u') > 0;
  end if;
end $$;

-- error_storable: an error as it is recorded. What an attempt died of is never refused: what cannot be read is kept as
-- the text it was given as, what is too long is cut.
create or replace function error_storable(p_error json) returns json
language plpgsql immutable strict as $$
declare
  v_text constant text := p_error::text;
begin
  if octet_length(v_text) <= 2 * bound('jsonDepth') and strpos(v_text, '\u') = 0 then
    return p_error;
  elsif octet_length(v_text) <= bound('errorBytes') then
    return json_check('error', p_error);
  elsif json_typeof(p_error) = 'object' then
    perform json_check('error', p_error);
    return json_strip_nulls(json_build_object('name', left(p_error ->> 'name', 200), 'code',
      left(p_error ->> 'code', 200), 'message', left(p_error ->> 'message', 10000),
      'stack', left(p_error ->> 'stack', 50000), 'cut', true));
  end if;
  return json_build_object('message', left(v_text, 10000), 'cut', true);
exception when sqlstate 'MR001' then
  return json_build_object('message', left(v_text, 10000), 'cut', octet_length(v_text) > 10000);
end $$;
