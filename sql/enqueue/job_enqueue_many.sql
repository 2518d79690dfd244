-- job_enqueue_many: append jobs. p_options is one object for all, or an array with one object each.
-- Returns the ids in the order of p_inputs; duplicates is null when there are none.
-- Takes no lock that another enqueue waits for, the same fingerprint or schedule slot excepted.
-- Reads: cell, queue, job_type, lane. Writes: job, ticket or agenda, tally, scout. Raises: MR001, MR003, MR004, MR006,
-- MR010, MR014.
create or replace function job_enqueue_many(p_inputs json, p_options json,
  out job_ids bigint[], out duplicates boolean[])
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  p job_plan;
  v_xid constant bigint := xid_now();  -- before queues are read (queues_finish)
  v_text constant text := p_inputs::text;
begin
  if p_options is null or json_typeof(p_inputs) is distinct from 'array' then
    perform raise_error('MR001', 'inputs are not an array, or options are missing',
      'give a JSON array with one input per job, and options');
  end if;
  if strpos(v_text, '\u') > 0 then  -- long ones are looked at as they are stored (input_check)
    perform jsons_check('input', p_inputs, bound('inputBytes'));
  end if;
  -- those of lists are looked at in plan_resolve
  if octet_length(p_options::text) > 2 * bound('jsonDepth') and json_typeof(p_options) = 'object'
    or strpos(p_options::text, '\u') > 0 then
    perform json_check('options', p_options);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform queues_pin(p_options);
  end if;

  if json_typeof(p_options) = 'object' then
    if p_options::jsonb - '{queue,type}'::text[] = '{}' then
      p := plan_plain(p_options ->> 'queue', p_options ->> 'type');
    else
      select * into p
        from plan_resolve(json_build_array(p_options),
          case when p_options ->> 'tenant' is null then 1 else json_array_length(p_inputs) end);
    end if;
    if p.fingerprint is null and p.schedule is null and p.payload is null then
      job_ids := jobs_store(p, p_inputs, octet_length(v_text));
      return;
    end if;
    p_options := (select json_agg(p_options) from json_array_elements(p_inputs));
  end if;

  if json_typeof(p_options) <> 'array' or json_array_length(p_options) <> json_array_length(p_inputs) then
    perform raise_error('MR001', 'inputs and options differ in number',
      'give one object of options for all, or one each');
  end if;
  select e.job_ids, e.duplicates into job_ids, duplicates from enqueue_each(p_inputs, p_options) e;
end $$;
