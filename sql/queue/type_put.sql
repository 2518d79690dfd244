-- type_put: set the defaults of a type; see queue_put.
create or replace function type_put(p_type text, p_options jsonb default '{}') returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  if p_type is null then
    perform raise_error('MR001', 'a type needs a name', 'give 1 to 200 characters');
  end if;
  perform name_check('type', p_type), options_check(jsonb_strip_nulls(p_options), 'type');
  perform resources_check(p_options -> 'resources');
  if p_options ->> 'deadLetterQueue' is not null then
    perform dead_letters_check(p_options ->> 'deadLetterQueue');
  end if;
  insert into job_type as t (type, options) values (p_type, jsonb_strip_nulls(p_options))
  on conflict (type) do update set options = jsonb_strip_nulls(t.options || p_options) returning options into v_options;
  if p_options ? 'breaker' then
    update cell set breakers = true where not breakers;
  end if;
  return v_options;
end $$;
