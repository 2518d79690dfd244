-- enqueue_each: append jobs whose options differ. All in one statement but those with a fingerprint, which go in turn.
-- One whose slot of a schedule is taken is a duplicate. p_parent, p_key: the job and its step whose children they are
-- (step_start). p_waits: what each waits for before it may begin, null for nothing (flow_enqueue). p_kinds: which of
-- p_options and p_waits each has, by its place; null when each has its own. Their ids follow each other, as those of
-- jobs_store do.
-- Writes: job, ticket, agenda, tally, scout, fingerprint, schedule_run, payload_piece.
create or replace function enqueue_each(p_inputs json, p_options json, p_parent bigint default null,
  p_key text default null, p_waits jsonb[] default null, p_kinds int[] default null, out job_ids bigint[],
  out duplicates boolean[])
language plpgsql as $$
declare
  v_plans job_plan[]; v_inputs json[];  -- of fingerprinted jobs
  v_taken int[];  -- those whose slot was taken
  v_stored int; v_scouted int;  -- read so that it is done
  v_tickets ticket[];
  v_n int;
  v_anchors constant bigint[] := array(
    select job_id_new() + (k * 1000::bigint << 12) from generate_series(0, json_array_length(p_inputs) / 1000) k);
  e record;
begin
  perform set_config('millrace.counts', 'off', true) where p_waits is not null;
  with plan as materialized (
    select i.n, p as plan, input_check(i.value) as input, p.fingerprint is not null as is_unique, w.waits
      from plan_resolve(p_options) p
      left join unnest(p_waits) with ordinality w (waits, n) on w.n = p.n
      join json_array_elements(p_inputs) with ordinality i (value, n) on coalesce(p_kinds[i.n], i.n) = p.n
  ), y as materialized (
    select n, plan, input, v_anchors[(n - 1) / 1000 + 1] + (((n - 1) % 1000) << 12) as id, (plan).lane, (plan).track,
           (plan).stage, (plan).schedule, waits,
           (plan).run_at <= clock_now() and (plan).stage is null and waits is null as is_ready
      from (select * from plan where not is_unique order by n) plan
  ), slots as (
    insert into schedule_run (schedule, slot_at, job_id)
    select schedule, (plan).schedule_slot, id from y
     where schedule is not null order by 1, 2
    on conflict do nothing returning job_id
  ), x as materialized (
    select * from y where schedule is null or id in (select job_id from slots)
  ), stored as (
    select jobs_store_each(array_agg(id), array_agg(plan), array_agg(input), p_parent, p_key) as jobs from x
  ), ready as (
    select id, lane, track, job_bytes(input, (plan).headers, (plan).payload) as bytes,
           (row_number() over (partition by track order by id) - 1) / 100 as chunk
      from x
     where is_ready
  ), tickets as (
    select array_agg(ticket_of(track, jobs, 1, 0, false, bytes) order by track, chunk) as made
      from (select track, chunk, array_agg(id order by id) as jobs, least(sum(bytes), 2147483647)::int as bytes
              from ready
             group by track, chunk) t
  ), turns as (
    select array_agg(line_ticket_of(lane, tracks)) as made
      from (select lane, array_agg(track order by first) as tracks
              from (select lane, track, min(id) as first from ready where track <> lane group by lane, track) t
             group by lane) t
  ), suspended as (  -- suspended_count
    insert into suspended_tally (lane, n) select lane, count(*) from x where waits is not null group by lane
  ), later as (
    insert into agenda (job_id, due_at, lane, track, attempt, created_at, stage, waits)
    select id, case when stage is null and waits is null then (plan).run_at else 'infinity' end, lane, track, 1,
           clock_now(), stage, waits
      from x
     where not is_ready
  ), counted as (
    insert into tally (lane, ready, delayed, staged)
    select lane, count(*) filter (where is_ready), count(*) filter (where not is_ready), count(stage)
      from x
     group by lane
  ), scouted as (
    select lane_scout(lane, queue_id, type, priority, resources, grouped, costs)
      from (select lane, (plan).queue_id, (plan).type, (plan).priority, (plan).resources,
                   bool_or(track <> lane) as grouped, bool_or((plan).cost is not null) as costs
              from x group by 1, 2, 3, 4, 5) lanes
  )
  select array_agg(x.id order by plan.n), array_agg(plan.plan order by plan.n) filter (where plan.is_unique),
         array_agg(plan.input order by plan.n) filter (where plan.is_unique),
         array_agg(plan.n) filter (where x.id is null and not plan.is_unique), (select jobs from stored),
         (select count(*) from scouted), (select made from tickets) || (select made from turns)
    into job_ids, v_plans, v_inputs, v_taken, v_stored, v_scouted, v_tickets
    from plan left join x on x.n = plan.n;
  perform set_config('millrace.counts', '', true) where p_waits is not null;
  if v_tickets is not null then
    perform tickets_write(v_tickets);
  end if;

  if v_plans is null and v_taken is null then
    return;
  end if;
  duplicates := array_fill(false, array[cardinality(job_ids)]);
  foreach v_n in array coalesce(v_taken, '{}') loop
    job_ids[v_n] := (select r.job_id from schedule_run r
                      where r.schedule = p_options -> v_n - 1 ->> 'schedule'
                        and r.slot_at = (p_options -> v_n - 1 ->> 'slotAt')::timestamptz);
    duplicates[v_n] := true;
  end loop;
  if v_plans is null then
    return;
  end if;
  perform fingerprints_reserve(array_agg(p.queue_id), array_agg(p.fingerprint))
    from unnest(v_plans) p
   where p.fingerprint is not null;
  perform job_hold(array(
    select unnest(array[f.job_id, f.follow_up]) from unnest(v_plans) p
      join fingerprint f using (queue_id, fingerprint)
     where p.fingerprint_mode in ('replace', 'debounce') and f.job_id > 0));
  for k in 1 .. cardinality(v_plans) loop
    e := enqueue_unique(v_plans[k], v_inputs[k]);
    job_ids[v_plans[k].n] := e.job_id;
    duplicates[v_plans[k].n] := e.duplicate;
  end loop;
end $$;
