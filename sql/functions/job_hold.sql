-- job_hold: keep jobs as they are until the end of this transaction: after it, each is named by a claim everybody sees, or is
-- finished, or waits and nobody can claim it. Claims go round a held job instead of waiting (lane_take, postponed).
-- Few jobs are marked one by one; many take their lanes as a whole. Locks: job marks in id order, lane flags, then lanes, in key order. Raises: MR007.
create or replace function job_hold(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  v_lanes bigint[] := array(
    select distinct lane_key(j.queue_id, j.type, j.priority, j.resources) from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id order by 1);
begin
  perform isolation_check('cancelling, changing or purging jobs');
  if cardinality(p_jobs) > 100 then
    perform lanes_seize(v_lanes);
    return;
  end if;
  perform pg_advisory_xact_lock(job_mark(id)) from (select distinct id from unnest(p_jobs) id order by id) ids;
  perform pg_advisory_xact_lock_shared(lane_flag(lane)) from unnest(v_lanes) lane;
  perform lanes_await(v_lanes);
end $$;

-- lanes_await: let the claims end that may not have seen our marks. The lock itself is given back: a subtransaction undone.
create or replace function lanes_await(p_lanes bigint[]) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(lane_lock(lane)) from unnest(p_lanes) lane;
  raise sqlstate 'MR000';
exception when sqlstate 'MR000' then
  null;
end $$;

-- lanes_seize: nobody else claims from, holds a job of, or purges these lanes until the end of this transaction. Keys in rising order.
create or replace function lanes_seize(p_lanes bigint[]) returns void
language plpgsql as $$
begin
  perform isolation_check('cancelling, changing or purging jobs');
  perform pg_advisory_xact_lock(lane_flag(lane)) from unnest(p_lanes) lane;
  perform pg_advisory_xact_lock(lane_lock(lane)) from unnest(p_lanes) lane;
end $$;

-- jobs_held: those of some jobs that another transaction holds right now, a prepared one too, which has no process. Reads the server's list of locks.
create or replace function jobs_held(p_jobs bigint[]) returns bigint[]
language sql volatile as $$
  select coalesce(array_agg(id), '{}') from unnest(p_jobs) id where job_mark(id) in (
    select (k.classid::bigint << 32) | k.objid::bigint from pg_locks k
     where k.locktype = 'advisory' and k.objsubid = 1 and k.granted and k.pid is distinct from pg_backend_pid())
$$;

-- postponed_return: jobs that claims went round become claimable again once nobody holds them; until the end of this transaction nobody else can. Any process may call it.
-- Those that were cancelled or changed meanwhile have a higher version, and those that were purged are gone: they stay away, and their group gets in line. Where jobs have an order (chained) they wait in the agenda, to be taken by their ids.
-- Locks: the entry of lanes and the jobs' marks, skipped when taken. Writes: postponed, ticket, agenda, tally.
create or replace function postponed_return() returns int
language plpgsql as $$
declare
  p postponed;
  v_n int := 0;
begin
  for p in
    delete from postponed where ctid = any (array(
      select o.ctid from postponed o where pg_try_advisory_xact_lock_shared(lane_entry(o.lane)) and pg_try_advisory_xact_lock(job_mark(o.job_id)) limit 200 for update skip locked))
    returning *
  loop
    if exists (select from lane_purge l where l.lane = p.lane and l.before is null and purge_saw(l, p.xid, p.job_id))
       or exists (select from amendment m where m.slot = job_slot(p.job_id) and m.job_id = p.job_id and m.version > p.version) then
      perform group_announce(l.queue_id, p.track # p.lane) from lane l where l.key = p.lane and p.track <> p.lane;  -- who follows it may have been passed over meanwhile
      continue;
    end if;
    if (select chained(q.options, p.track <> p.lane) from lane l join queue q on q.id = l.queue_id where l.key = p.lane) then
      insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain) values (p.job_id, clock_now(), p.lane, p.track, p.attempt, p.version, p.alone, clock_now(), 1);
      perform line_append(p.lane, p.track) from (select) one where p.track <> p.lane;
    else
      perform tickets_append(p.lane, p.track + 1, array[p.job_id], p.attempt, p.version, p.alone);
    end if;
    v_n := v_n + 1;
  end loop;
  return v_n;
end $$;
