-- options_check: defaults that a queue, a type or the cell (p_scope) may set, by the table of options. Returns them
-- unchanged. Raises: MR001, MR004.
create or replace function options_check(p_options jsonb, p_scope text default null) returns jsonb
language plpgsql stable as $$
declare
  v_key text;
  v_value jsonb;
  o record;
begin
  if jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'options are not an object', 'give a JSON object');
  elsif octet_length(p_options::text) > bound('optionsBytes') then
    perform raise_error('MR004', format('options have %s bytes, more than the limit of %s',
      octet_length(p_options::text), bound('optionsBytes')), 'give fewer, or shorter ones');
  end if;
  for v_key, v_value in select key, value from jsonb_each(p_options) loop
    select * into o from option_table() t where t.name = v_key;
    if not found then
      perform raise_error('MR001', format('unknown option "%s"', left(v_key, 100)),
        'see the table of options in docs/options.md');
    elsif p_scope <> all (o.scopes) then
      perform raise_error('MR001', format('%s cannot be set here', v_key), 'set it for ' || o.whose);
    elsif o.kind in ('number', 'integer') then
      perform number_check(v_key, v_value, o.kind, o.lowest, o.highest, o.word);
    elsif o.kind = 'choice' then
      if not o.choices @> jsonb_build_array(v_value) then
        perform raise_error('MR001', format('%s cannot be %s', v_key, left(v_value::text, 100)),
          'use one of ' || o.choices::text);
      end if;
    elsif o.kind = 'rate' then
      perform rate_check(v_key, v_value);
    elsif o.kind = 'resources' then
      if jsonb_typeof(v_value) <> 'object' then
        perform raise_error('MR001', 'resources are not an object', 'give names with units, such as {"gpu": 1}');
      end if;
    elsif o.kind = 'names' then
      if jsonb_typeof(v_value) <> 'array' or jsonb_array_length(v_value) > 100
         or exists (select from jsonb_array_elements(v_value) e
           where jsonb_typeof(e) <> 'string' or length(e #>> '{}') not between 1 and 200) then
        perform raise_error('MR001', format('%s is not a list of names', v_key), 'give a list of at most 100 names');
      end if;
    elsif o.kind = 'calendar' then
      perform calendar_check(v_key, v_value);
    elsif o.kind = 'retry' then
      perform retry_check(v_value);
    elsif o.kind = 'errorRules' then
      perform error_rules_check(v_value);
    elsif o.kind = 'breaker' then
      perform breaker_check(v_value);
    elsif jsonb_typeof(v_value) <> 'string' then  -- a text
      perform raise_error('MR001', format('%s is not a name', v_key), 'give a text');
    end if;
  end loop;
  return p_options;
end $$;

-- number_check: a number within its range, both ends included, or the word that stands for one. An integer is written
-- without a point: it is read as one later, and 5.0 cannot be. Raises: MR001.
create or replace function number_check(p_key text, p_value jsonb, p_kind text, p_lowest numeric, p_highest numeric,
  p_word text) returns void
language plpgsql immutable as $$
begin
  if p_value = to_jsonb(p_word) or jsonb_typeof(p_value) = 'number' and p_value::numeric between p_lowest and p_highest
    and (p_kind = 'number' or p_value::text !~ '[.]') then
    return;
  end if;
  perform raise_error('MR001', format('%s cannot be %s', p_key, left(p_value::text, 100)),
    format('give %s from %s to %s%s', case p_kind when 'integer' then 'an integer' else 'a number' end, p_lowest,
      p_highest, coalesce(format(', or "%s"', p_word), '')));
end $$;
