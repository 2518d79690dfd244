-- resource_put: name something that jobs need while they run, and say how much of it there is: maxRunning units at any
-- time, a rate at which they may be taken, or both. Options given replace those of the same name; null removes one.
-- Takes effect with the next claim. Returns what is set. Writes: resource. Raises: MR001.
create or replace function resource_put(p_name text, p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  if p_name is null or jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'a resource and its options are needed', 'give a name and a JSON object');
  end if;
  perform name_check('resource', p_name), keys_check('a resource', p_options, '{maxRunning,rate}'),
    options_check(jsonb_strip_nulls(p_options));
  insert into resource as r (name, options) values (p_name, jsonb_strip_nulls(p_options))
  on conflict (name) do update set options = jsonb_strip_nulls(r.options || p_options) returning options into v_options;
  if v_options = '{}' then
    perform raise_error('MR001', format('resource "%s" would have no limit', p_name),
      'give maxRunning, rate, or both; to lift a limit, give a high one');
  end if;
  return v_options;
end $$;
