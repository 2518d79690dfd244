-- enqueue_each: append jobs whose options differ. All in one statement but those with a fingerprint, which go in turn.
-- One whose slot of a schedule is taken is a duplicate.
-- Writes: job, ticket, agenda, tally, scout, fingerprint, schedule_run, payload_piece.
create or replace function enqueue_each(p_inputs json, p_options json, out job_ids bigint[], out duplicates boolean[])
language plpgsql as $$
declare
  v_xid bigint := xid_now();
  v_plans job_plan[]; v_inputs json[];  -- of fingerprinted jobs
  v_taken int[];  -- those whose slot was taken
  v_scouted bigint;  -- read so that it is done
  v_n int;
  e record;
begin
  with plan as materialized (
    select p.*, case when p.fingerprint is not null then p end as unique_plan, input_check(i.value) as input,
      p.fingerprint is not null as is_unique
      from plan_resolve(p_options) p join json_array_elements(p_inputs) with ordinality i (value, n) on i.n = p.n
  ), y as materialized (
    select plan.*, job_id_new() as id, run_at <= clock_now() and stage is null as is_ready
      from (select * from plan where not is_unique order by n) plan
  ), slots as (
    insert into schedule_run (schedule, slot_at, job_id) select schedule, schedule_slot, id from y
      where schedule is not null order by schedule, schedule_slot on conflict do nothing returning job_id
  ), x as materialized (
    select * from y where schedule is null or id in (select job_id from slots)
  ), stored as (
    insert into job (id, xid, run_at, start_by, deadline, queue_id, max_attempts, attempt_timeout_ms, payload_size,
      slot,
                     priority, type, resources, group_key, tenant, content_type, schedule, schedule_slot, retry,
                       headers, input, payload, cost)
    select x.id, v_xid, x.run_at, x.start_by, x.deadline, x.queue_id, x.max_attempts, x.attempt_timeout_ms,
      x.payload_size,
           job_slot(x.id), x.priority, x.type, x.resources, x.group_key, x.tenant, x.content_type, x.schedule,
             x.schedule_slot, x.retry, x.headers, x.input,
           case when octet_length(x.payload) <= 65536 then x.payload end, x.cost
      from x
  ), pieces as (
    insert into payload_piece (job_id, slot, piece, bytes)
    select x.id, job_slot(x.id), k, substring(x.payload from k * 1048576 + 1 for 1048576)
      from x cross join generate_series(0, (octet_length(x.payload) - 1) / 1048576) k
     where octet_length(x.payload) > 65536
  ), ready as (
    select id, lane, track, job_bytes(input, headers, payload) as bytes,
           (row_number() over (partition by track order by id) - 1) / 100 as chunk from x where is_ready
  ), tickets as (
    insert into ticket (lane, xid, slot, bytes, jobs)
    select track, v_xid, ticket_slot(v_xid), least(sum(bytes), 2147483647), array_agg(id order by id) from ready
      group by track, chunk order by track, chunk
  ), turns as (
    insert into ticket (lane, xid, slot, jobs)
    select line_of(lane), v_xid, ticket_slot(v_xid), array_agg(track order by first)
      from (select lane, track, min(id) as first from ready where track <> lane group by lane, track) t group by lane
  ), later as (
    insert into agenda (job_id, due_at, lane, track, attempt, created_at, stage)
    select x.id, case when x.stage is null then x.run_at else 'infinity' end, x.lane, x.track, 1, clock_now(), x.stage
      from x where not is_ready
  ), counted as (
    insert into tally (lane, ready, delayed, staged)
    select lane, count(*) filter (where is_ready), count(*) filter (where not is_ready), count(stage) from x
      group by lane
  ), scouted as (
    select lane_scout(lane, queue_id, type, priority, resources, grouped, costs)
      from (select lane, queue_id, type, priority, resources, bool_or(track <> lane) as grouped,
        bool_or(cost is not null) as costs from x group by 1, 2, 3, 4, 5) lanes
  )
  select array_agg(x.id order by plan.n), array_agg(plan.unique_plan order by plan.n)
    filter (where plan.is_unique), array_agg(plan.input order by plan.n) filter (where plan.is_unique),
         array_agg(plan.n) filter (where x.id is null and not plan.is_unique), (select count(*) from scouted)
    into job_ids, v_plans, v_inputs, v_taken, v_scouted
    from plan left join x on x.n = plan.n;

  if v_plans is null and v_taken is null then
    return;
  end if;
  duplicates := array_fill(false, array[cardinality(job_ids)]);
  foreach v_n in array coalesce(v_taken, '{}') loop
    job_ids[v_n] := (select r.job_id from schedule_run r where r.schedule = p_options -> v_n - 1 ->> 'schedule'
      and r.slot_at = (p_options -> v_n - 1 ->> 'slotAt')::timestamptz);
    duplicates[v_n] := true;
  end loop;
  if v_plans is null then
    return;
  end if;
  perform fingerprints_reserve(array_agg(p.queue_id), array_agg(p.fingerprint)) from unnest(v_plans) p
    where p.fingerprint is not null;
  perform job_hold(array(select unnest(array[f.job_id, f.follow_up]) from unnest(v_plans) p join fingerprint f
    using (queue_id, fingerprint)
                          where p.fingerprint_mode in ('replace', 'debounce') and f.job_id <> 0));
  for k in 1 .. cardinality(v_plans) loop
    e := enqueue_unique(v_plans[k], v_inputs[k]);
    job_ids[v_plans[k].n] := e.job_id;
    duplicates[v_plans[k].n] := e.duplicate;
  end loop;
end $$;
