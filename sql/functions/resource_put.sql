-- resource_put: name something that jobs need while they run, and say how much of it there is: maxRunning units at any time, a rate at which they may be taken, or both.
-- Options given replace those of the same name; null removes one. Takes effect with the next claim. Returns what is set. Writes: resource. Raises: MR001.
create or replace function resource_put(p_name text, p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  if p_name is null or jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'a resource and its options are needed', 'give a name and a JSON object');
  end if;
  perform name_check('resource', p_name), keys_check('a resource', p_options, '{maxRunning,rate}'), options_check(jsonb_strip_nulls(p_options));
  insert into resource as r (name, options) values (p_name, jsonb_strip_nulls(p_options))
  on conflict (name) do update set options = jsonb_strip_nulls(r.options || p_options) returning options into v_options;
  if v_options = '{}' then
    perform raise_error('MR001', format('resource "%s" would have no limit', p_name), 'give maxRunning, rate, or both; to lift a limit, give a high one');
  end if;
  return v_options;
end $$;

-- resources_check: what jobs need is {name: units}. Returns it unchanged. Reads: resource. Raises: MR001.
create or replace function resources_check(p_resources jsonb) returns jsonb
language plpgsql stable as $$
declare
  v_name text;
  v_units jsonb;
  v_options jsonb;
begin
  if p_resources is null or p_resources in ('null', '{}') then
    return null;
  elsif jsonb_typeof(p_resources) <> 'object' or (select count(*) from jsonb_object_keys(p_resources)) > 10 then
    perform raise_error('MR001', 'resources are not what a job needs', 'give an object of at most 10 names with units, such as {"gpu": 1}');
  end if;
  for v_name, v_units in select key, value from jsonb_each(p_resources) loop
    select options into v_options from resource where name = v_name;
    if not found then
      perform raise_error('MR001', format('there is no resource "%s"', v_name), 'create it with resource_put(name, {"maxRunning": 1})');
    elsif jsonb_typeof(v_units) <> 'number' or v_units::numeric not between 1 and 1000000 or v_units::numeric % 1 <> 0 then
      perform raise_error('MR001', format('%s units of resource "%s" are not possible', v_units, v_name), 'give a whole number of at least 1');
    elsif v_units::numeric > least((v_options ->> 'maxRunning')::numeric, rate_burst(v_options -> 'rate')::numeric) then
      perform raise_error('MR001', format('%s units of resource "%s" are more than there ever are', v_units, v_name), 'ask for less, or raise its maxRunning or its burst');
    end if;
  end loop;
  return p_resources;
end $$;
