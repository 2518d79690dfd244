-- job_enqueue_many: append jobs. p_options is one object for all, or an array with one object each.
-- Returns the ids in the order of p_inputs; duplicates is null when there are none.
-- Takes no lock that another enqueue waits for, the same fingerprint or schedule slot excepted.
-- Reads: cell, queue, job_type, lane. Writes: job, ticket or agenda, tally, scout. Raises: MR001, MR003, MR004, MR006,
-- MR010, MR014.
create or replace function job_enqueue_many(p_inputs json, p_options json, out job_ids bigint[],
  out duplicates boolean[])
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  p job_plan;
  v_now timestamptz;
  v_xid constant bigint := xid_now();  -- before queues are read (queues_finish)
  v_anchors bigint[];
  v_stored int;
begin
  if p_options is null or json_typeof(p_inputs) is distinct from 'array' then
    perform raise_error('MR001', 'inputs are not an array, or options are missing',
      'give a JSON array with one input per job, and options');
  end if;
  if strpos(p_inputs::text, '\u') > 0 then  -- long ones are looked at as they are stored (input_check)
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
      select * into p from plan_resolve(json_build_array(p_options),
        case when p_options ->> 'tenant' is null then 1 else json_array_length(p_inputs) end);
    end if;
    if p.fingerprint is null and p.schedule is null and p.payload is null then
      -- One new id per thousand jobs; the others follow a microsecond apart, which is less time than it takes to store
      -- them.
      v_anchors := array(select job_id_new() + (k * 1000::bigint << 12)
        from generate_series(0, octet_length(p_inputs::text) / 2000) k);
      insert into job (id, xid, run_at, start_by, deadline, queue_id, max_attempts, attempt_timeout_ms, payload_size,
                       slot, priority, type, resources, group_key, tenant, content_type, retry, headers, input, cost)
      select x.id, v_xid, p.run_at, p.start_by, p.deadline, p.queue_id, p.max_attempts, p.attempt_timeout_ms,
        p.payload_size,
             job_slot(x.id), p.priority, p.type, p.resources, p.group_key, p.tenant, p.content_type, p.retry, p.headers,
               input_check(x.value), p.cost
        from (select v_anchors[(e.i - 1) / 1000 + 1] + (((e.i - 1) % 1000) << 12) as id, e.value
                from json_array_elements(p_inputs) with ordinality e (value, i) offset 0) x;
      get diagnostics v_stored = row_count;
      job_ids := array(select v_anchors[i / 1000 + 1] + ((i % 1000)::bigint << 12)
        from generate_series(0, v_stored - 1) i);
      if v_stored = 0 then
        return;
      end if;
      v_now := clock_now();
      perform lane_scout(p.lane, p.queue_id, p.type, p.priority, p.resources, p.track <> p.lane, p.cost is not null);
      if p.run_at <= v_now and p.stage is null then
        perform tickets_append(p.lane, p.track, job_ids, 1, 0, false,
          octet_length(p_inputs::text) + 100 * coalesce(octet_length(p.headers::text), 0));
        insert into tally (lane, ready) values (p.lane, cardinality(job_ids));
      else
        insert into agenda (job_id, due_at, lane, track, attempt, created_at, stage)
        select id, case when p.stage is null then p.run_at else 'infinity' end, p.lane, p.track, 1, v_now, p.stage
          from unnest(job_ids) id;
        insert into tally (lane, delayed, staged) values (p.lane, cardinality(job_ids),
          case when p.stage is null then 0 else cardinality(job_ids) end);
      end if;
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
