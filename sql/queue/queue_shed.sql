-- queue_shed: drop the waiting jobs of a queue that were enqueued before a time, or of these only jobs of one type or
-- one group: ready, delayed and staged ones. Running jobs go on; jobs of transactions still open arrive afterwards and
-- stay, as with queue_purge.
-- The cost does not depend on how many are ready, because it only writes down that they are dropped. They are
-- "cancelled" at once. They are passed over, many at a time, and taken out of the counts, here and by the claims and
-- the maintenance that follow. Returns how many were taken out already: all of them, except beyond 100,000 of a lane,
-- and of groups, which are passed over when their turn comes.
-- Locks: the lanes and their entries. Writes: lane_purge, lane_cursor, agenda, tally. Raises: MR001, MR003, MR007.
create or replace function queue_shed(p_queue text, p_before timestamptz, p_type text default null,
  p_group text default null) returns bigint
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  -- ids have no room for all times
  v_before constant bigint := job_id_at(
    case when p_before is not null then least(greatest(p_before, '2020-01-01'), clock_now() + interval '1 day') end);
begin
  if v_before is null then
    perform raise_error('MR001', 'no time is given', 'say before when the jobs to drop were enqueued');
  end if;
  perform name_check('group', p_group);
  perform lane_discover(array[v_queue_id]);
  return lanes_shed(array(select key from lane
                           where queue_id = v_queue_id and (p_type is null or type = p_type)
                           order by key), v_before, p_group);
end $$;

-- lanes_shed: drop the waiting jobs of some lanes that have an id below p_before, all or those of a group. Returns how
-- many were taken out of the counts already.
-- Locks: the lanes and their entries. Writes: lane_purge, lane_cursor, agenda, tally.
create or replace function lanes_shed(p_lanes bigint[], p_before bigint, p_group text) returns bigint
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_last constant bigint := job_id_new();
  v_dropped bigint;
begin
  perform lanes_seize(p_lanes);
  perform pg_advisory_xact_lock(lane_entry(lane)) from unnest(p_lanes) lane;
  -- this one drops what they dropped
  delete from lane_purge where lane = any (p_lanes) and before <= p_before and (p_group is null or group_key = p_group);
  insert into lane_purge (lane, snapshot, own_xid, own_job, purged_at, before, group_key, is_open)
  select lane, pg_current_snapshot(), xid_now(), v_last, clock_now(), p_before, p_group, true from unnest(p_lanes) lane;
  v_dropped := agenda_drop(p_lanes, null);
  return v_dropped + (select coalesce(sum(s.dropped), 0) from unnest(p_lanes) lane
                        cross join lateral lane_shed(lane) s);
end $$;
