-- job_hold: keep jobs as they are until the end of this transaction. When it returns, each job is named by a claim that
-- everybody sees, or has ended, or waits and nobody can claim it. Claims go round a held job instead of waiting
-- (lane_take, postponed). Few jobs are marked one by one; for many their lanes are taken as a whole.
-- What a claim left for others returns to its lane, as what a claim went round.
-- Locks: job marks in id order, lane flags, then lanes, in key order. Writes: spare, postponed. Raises: MR007.
create or replace function job_hold(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  v_lanes bigint[] := array(
    select distinct lane_key(j.queue_id, j.type, j.priority, j.resources)
      from unnest(p_jobs) u (id)
      join job j on j.slot = job_slot(u.id) and j.id = u.id
     order by 1);
begin
  perform isolation_check('cancelling, changing or purging jobs');
  if cardinality(p_jobs) > 100 then
    perform lanes_seize(v_lanes);
  else
    perform pg_advisory_xact_lock(job_mark(id)) from (select distinct id from unnest(p_jobs) id order by id) ids;
    perform pg_advisory_xact_lock_shared(lane_flag(lane)) from unnest(v_lanes) lane;
    perform lanes_await(v_lanes);
  end if;
  perform spares_recall(v_lanes, p_jobs);
end $$;

-- lanes_await: wait for the end of the claims that may not have seen our marks. The locks are given back at once,
-- because the subtransaction that took them is undone.
create or replace function lanes_await(p_lanes bigint[]) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(lane_lock(lane)) from unnest(p_lanes) lane;
  raise sqlstate 'MR000';
exception when sqlstate 'MR000' then
  null;
end $$;

-- lanes_seize: nobody else claims from, holds a job of, or purges these lanes until the end of this transaction. Keys
-- in rising order.
create or replace function lanes_seize(p_lanes bigint[]) returns void
language plpgsql as $$
begin
  perform isolation_check('cancelling, changing or purging jobs');
  perform pg_advisory_xact_lock(lane_flag(lane)) from unnest(p_lanes) lane;
  perform pg_advisory_xact_lock(lane_spares(lane)) from unnest(p_lanes) lane;
  perform pg_advisory_xact_lock(lane_lock(lane)) from unnest(p_lanes) lane;
end $$;

-- jobs_held: which of some jobs another transaction holds right now. A prepared one counts too; it has no process.
-- Reads the server's list of locks.
create or replace function jobs_held(p_jobs bigint[]) returns bigint[]
language sql volatile as $$
  select coalesce(array_agg(id), '{}') from unnest(p_jobs) id where job_mark(id) in (
    select (k.classid::bigint << 32) | k.objid::bigint from pg_locks k
     where k.locktype = 'advisory' and k.objsubid = 1 and k.granted and k.pid is distinct from pg_backend_pid())
$$;
