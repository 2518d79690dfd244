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
    perform raise_error('MR001', 'resources are not what a job needs',
      'give an object of at most 10 names with units, such as {"gpu": 1}');
  end if;
  for v_name, v_units in select key, value from jsonb_each(p_resources) loop
    select options into v_options from resource where name = v_name;
    if not found then
      perform raise_error('MR001', format('there is no resource "%s"', v_name),
        'create it with resource_put(name, {"maxRunning": 1})');
    elsif jsonb_typeof(v_units) <> 'number' or v_units::numeric not between 1 and 1000000 or v_units::text ~ '[.]' then
      perform raise_error('MR001', format('%s units of resource "%s" are not possible', v_units, v_name),
        'give a whole number of at least 1');
    elsif v_units::numeric > least((v_options ->> 'maxRunning')::numeric, rate_burst(v_options -> 'rate')::numeric) then
      perform raise_error('MR001', format('%s units of resource "%s" are more than there ever are', v_units, v_name),
        'ask for less, or raise its maxRunning or its burst');
    end if;
  end loop;
  return p_resources;
end $$;
