-- stage_release: release the staged jobs of a queue. Each becomes claimable at its own time, or now if that has passed,
-- and its time to start counts from then. Jobs that are enqueued into the stage later wait for the next release. At
-- most p_limit at a time (null: all), oldest first. Wakes the queue's workers. Returns how many.
-- Locks: agenda rows. Writes: agenda, amendment, tally, queue_event. Raises: MR001, MR003.
create or replace function stage_release(p_queue text, p_stage text, p_limit int default 10000, p_by text default null,
  p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_jobs bigint[] := stage_take(p_queue, p_stage, p_limit);
  v_now timestamptz := clock_now();
  v_timed bigint[];
  v_ends timestamptz[];
begin
  if v_jobs = '{}' then
    return 0;
  end if;
  with freed as (
    update agenda g set due_at = greatest(v_now, coalesce(m.run_at, j.run_at)), stage = null
      from unnest(v_jobs) u (id)
      join job j on j.slot = job_slot(u.id) and j.id = u.id
      left join amendment m on m.slot = j.slot and m.job_id = j.id
     where g.job_id = u.id
    returning g.lane, g.due_at, j.id, j.start_by, j.deadline, greatest(j.run_at, job_created_at(j.id)) as counted_from
  ), counted as (
    insert into tally (lane, staged) select lane, -count(*) from freed group by lane
  )
  select array_agg(id), array_agg(greatest(v_now, least(due_at + (start_by - counted_from), deadline)))
    into v_timed, v_ends
    from freed
   where isfinite(start_by);
  if v_timed is not null then
    insert into amendment (job_id, slot, updated_at)
    select id, job_slot(id), v_now from unnest(v_timed) id
    on conflict do nothing;
    update amendment m set start_by = u.ends_at, updated_at = v_now
      from unnest(v_timed, v_ends) u (id, ends_at)
     where m.slot = job_slot(u.id) and m.job_id = u.id;
  end if;
  perform queue_event_add(p_queue, 'stageReleased', p_by, p_because, null, null, null, p_stage, cardinality(v_jobs)),
    queue_notify(array[p_queue]);
  return cardinality(v_jobs);
end $$;

-- stage_take: lock the next staged jobs of a queue. Locks: agenda rows, in the order of ids. Raises: MR007 when the
-- snapshot is older than the table.
create or replace function stage_take(p_queue text, p_stage text, p_limit int) returns bigint[]
language plpgsql as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_lanes constant bigint[] := array(select distinct key from lane_known where queue_id = v_queue_id order by key);
  v_jobs bigint[];
begin
  perform name_check('stage', p_stage), limit_check(p_limit);
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from agenda limit 1;
    perform snapshot_check('agenda');
  end if;
  v_jobs := array(
    select g.job_id from agenda g
     where g.lane = any (v_lanes) and g.stage = p_stage and not agenda_dropped(g)
     order by g.job_id limit p_limit for update of g);
  return array(select g.job_id from agenda g where g.job_id = any (v_jobs) and g.stage = p_stage order by g.job_id);
end $$;
