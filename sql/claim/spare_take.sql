-- spare_await: what a claim does when others have its lane. Takes what they left for it, or waits for the end of the
-- claim that has the lane, and looks again, together with all others who wait. Where claims leave nothing, because
-- nobody waited before, or there is nothing, it waits for the lane itself. Empty when the lane is in the caller's hands
-- now. Null when it may not wait.
-- Locks: the lane's spares, shared; the lane, where it returns empty.
create or replace function spare_await(p_lane bigint, p_epoch numeric, p_about text, p_wanted int, p_worker text,
  p_lease float8, p_max_bytes bigint, p_track_start boolean, p_may_wait boolean) returns text
language plpgsql as $$
declare
  v_told text;
  v_move bigint; v_left int; v_seen bigint;
begin
  for v_look in 1 .. 5 loop
    select cursor_move(c.seq, c.uses), c.credit into v_move, v_left from lane_cursor c
     where c.track = p_lane order by c.seq desc limit 1;
    exit when (v_left > 0 and v_move is distinct from v_seen) is not true;
    if v_look = 1 and not pg_try_advisory_xact_lock_shared(lane_spares(p_lane)) then
      exit;
    end if;
    v_told := spare_take(p_lane, p_epoch, p_about, p_wanted, p_worker, p_lease, p_max_bytes, p_track_start);
    if v_told <> '' then
      return v_told;
    elsif v_look > 1 and pg_try_advisory_xact_lock(lane_lock(p_lane)) then
      return '';
    end if;
    exit when not p_may_wait;
    v_seen := v_move;
    perform pg_advisory_xact_lock_shared(lane_spares(p_lane));
    perform lanes_await(array[p_lane]);
  end loop;
  if not p_may_wait then
    return null;
  end if;
  perform pg_advisory_xact_lock_shared(lane_spares(p_lane));
  perform pg_advisory_xact_lock(lane_lock(p_lane));
  return '';
end $$;

-- spare_take: a claim of what another one left for those who waited. The caller shares the lane's spares; the marks of
-- the jobs keep others from them. Empty when there is nothing.
-- Locks: the jobs' marks, tried. Writes: spare, claim, tally; postponed where a job was amended since.
create or replace function spare_take(p_lane bigint, p_epoch numeric, p_about text, p_wanted int, p_worker text,
  p_lease float8, p_max_bytes bigint, p_track_start boolean) returns text
language plpgsql as $$
declare
  v_jobs bigint[];
  v_lines job_lines;
  v_now timestamptz; v_until timestamptz; v_slot smallint;
  v_token constant uuid := gen_random_uuid();
begin
  with taken as (
    delete from spare where p_epoch = (select sum(n) from rule_change) and ctid = any (array(
      select o.ctid from spare o
       where o.lane = p_lane
         and o.move = (select cursor_move(c.seq, c.uses) from lane_cursor c where c.track = p_lane
                        order by c.seq desc limit 1)
         and pg_try_advisory_xact_lock(job_mark(o.job_id))
       order by o.job_id limit p_wanted for update skip locked))
    returning job_id)
  select array_agg(job_id) into v_jobs from taken;
  if v_jobs is null then
    return '';
  end if;
  v_now := clock_now();
  v_slot := job_slot(v_jobs[1]);
  v_lines := job_lines_read(v_slot, v_jobs);
  if v_lines.ids is distinct from v_jobs or v_lines.amended or v_lines.start_by <= v_now or v_lines.bytes > p_max_bytes
  then
    insert into postponed (job_id, lane, track, attempt, version, alone)
    select id, p_lane, p_lane, 1, 0, false from unnest(v_jobs) id;
    return '';
  end if;
  v_until := v_now + seconds(p_lease);
  with counted as (insert into tally (lane, ready) values (p_lane, -cardinality(v_jobs)))
  insert into claim (token, lane, slot, worker, jobs, unstarted, deadline, started_at, touched_at, until, linked)
  values (v_token, p_lane, v_slot, p_worker, v_jobs, case when p_track_start then v_jobs end, v_lines.deadline,
          v_now, v_now, v_until, v_lines.linked);
  return claim_told(v_token, p_about, v_now, v_until, false, v_lines.max_attempts, null, v_jobs, v_lines.extras,
    v_lines.inputs);
end $$;

-- spares_leave: leave the jobs that come next to those who wait for the lane, which the caller has: the rest of the
-- ticket that it took from, or the tickets of one job that follow. Returns where the cursor stands then, who is late,
-- and how many were left.
-- The tickets that follow are read with a snapshot of their own, so it is as if another claim had taken them: the head
-- was moved by the snapshot that read the first ticket, and moves on by this one.
-- p_jobs: all jobs of the ticket. p_offset: how many of them were taken. Writes: spare.
create or replace function spares_leave(p_lane bigint, p_move bigint, p_xid bigint, p_ticket bigint, p_offset int,
  p_jobs bigint[], p_wanted int, p_now timestamptz,
  out head_xid bigint, out head_ticket bigint, out head_offset int, out late late_place[], out n int)
language plpgsql as $$
declare
  v_most constant int := p_wanted * spares_most();
  v_jobs bigint[] := p_jobs[p_offset + 1 : p_offset + v_most];
  v_snapshot pg_snapshot;
begin
  head_xid := p_xid; head_ticket := p_ticket; head_offset := p_offset + cardinality(v_jobs); late := '{}';
  if v_jobs = '{}' then
    select array_agg(t.jobs[1] order by t.xid, t.id), max(t.xid),
           (array_agg(t.id order by t.xid desc, t.id desc))[1], pg_current_snapshot()
      into v_jobs, head_xid, head_ticket, v_snapshot
      from (select k.xid, k.id, k.jobs, bool_and(cardinality(k.jobs) = 1) over (order by k.xid, k.id) as is_single
              from (select * from ticket k
                     where k.slot = ticket_slot(p_xid) and k.lane = p_lane and (k.xid, k.id) > (p_xid, p_ticket)
                       and (k.xid >= pg_current_xact_id_if_assigned()::text::bigint) is not true
                     order by k.xid, k.id limit v_most) k) t
     where t.is_single;
    if v_jobs is null then
      head_xid := p_xid; head_ticket := p_ticket;
      return;
    end if;
    head_offset := 1;
    if head_xid > p_xid and xmin_of(v_snapshot) < head_xid then
      late := late_from(array(select x from xids_running(v_snapshot) x where x >= p_xid and x < head_xid));
    end if;
  end if;
  n := cardinality(v_jobs);
  insert into spare (lane, move, job_id, at) select p_lane, p_move, u.id, p_now from unnest(v_jobs) u (id);
end $$;

-- spares_most: how many claims of others a claim leaves jobs for. With 15, twice as many have to wait for the lane;
-- with 63, each looks at twice as many that others have taken.
create or replace function spares_most() returns int
language sql immutable parallel safe as $$ select 31 $$;

-- spares_return: jobs that were left for claims that never came become claimable as all others are. Any process may
-- call it. p_lanes: of these lanes; null: of all, those that were left for a second. Returns how many.
-- Locks: the lanes' spares and the jobs' marks, skipped when taken. Writes: spare, postponed, and as postponed_return.
create or replace function spares_return(p_lanes bigint[]) returns int
language plpgsql as $$
declare
  v_n int;
begin
  with gone as (
    delete from spare where ctid = any (array(
      select o.ctid from spare o
       where case when p_lanes is null then o.at < clock_now() - interval '1 second' else o.lane = any (p_lanes) end
         and pg_try_advisory_xact_lock_shared(lane_spares(o.lane)) and pg_try_advisory_xact_lock(job_mark(o.job_id))
       limit 200 for update skip locked))
    returning *)
  insert into postponed (job_id, lane, track, xid, attempt, version, alone)
  select job_id, lane, lane, xid, 1, 0, false from gone;
  get diagnostics v_n = row_count;
  if v_n > 0 then
    perform postponed_return();
  end if;
  return v_n;
end $$;

-- spares_of: the lanes of these queues in which jobs were left.
create or replace function spares_of(p_queues int[]) returns bigint[]
language sql volatile as $$
  select array(select distinct o.lane from spare o join lane l on l.key = o.lane where l.queue_id = any (p_queues))
$$;
