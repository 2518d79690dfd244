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
    exit when (v_left > 0 and p_wanted = 1 and v_move is distinct from v_seen) is not true;
    if v_look = 1 and not pg_try_advisory_xact_lock_shared(lane_spares(p_lane)) then
      exit;
    end if;
    v_told := spare_take(p_lane, v_move, (random() * v_left)::int, p_epoch, p_about, p_worker, p_lease, p_max_bytes,
      p_track_start);
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

-- spare_take: a claim of one job that another claim left for those who waited, in its last move (p_move). The caller
-- shares the lane's spares; the job's mark keeps others from it. A spare has all that a claim is told of its job; what
-- changes the job takes the spare away (spares_recall). p_from: where to begin, so that those who wait do not all look
-- at the same one. Empty when there is nothing.
-- Locks: the job's mark, tried. Writes: spare, claim, tally; postponed where it is too late for a job, or too large.
create or replace function spare_take(p_lane bigint, p_move bigint, p_from int, p_epoch numeric, p_about text,
  p_worker text, p_lease float8, p_max_bytes bigint, p_track_start boolean) returns text
language plpgsql as $$
declare
  s spare;
  v_now timestamptz; v_until timestamptz;
  v_token constant uuid := gen_random_uuid();
begin
  delete from spare where p_epoch = (select sum(n) from rule_change) and ctid = (
    select o.ctid from spare o
     where o.lane = p_lane and o.move = p_move and o.place >= p_from and pg_try_advisory_xact_lock(job_mark(o.job_id))
     order by o.place limit 1 for update skip locked)
  returning * into s;
  if s.job_id is null then
    return case when p_from = 0 then '' else spare_take(p_lane, p_move, 0, p_epoch, p_about, p_worker, p_lease,
      p_max_bytes, p_track_start) end;
  end if;
  v_now := clock_now();
  if s.start_by <= v_now or octet_length(s.input) > p_max_bytes then
    insert into postponed (job_id, lane, track, xid, attempt, version, alone)
    values (s.job_id, p_lane, p_lane, s.xid, 1, 0, false);
    return '';
  end if;
  v_until := v_now + seconds(p_lease);
  with counted as (insert into tally (lane, ready) values (p_lane, -1))
  insert into claim (token, lane, slot, worker, jobs, unstarted, deadline, started_at, touched_at, until, linked)
  values (v_token, p_lane, job_slot(s.job_id), p_worker, array[s.job_id],
          case when p_track_start then array[s.job_id] end, s.deadline, v_now, v_now, v_until, s.linked);
  return claim_told(v_token, p_about, v_now, v_until, false, s.max_attempts::text, null, array[s.job_id], s.extras,
    s.input);
end $$;

-- spares_leave: leave the jobs that come next to those who wait for the lane, which the caller has: the rest of the
-- ticket that it took from, or the tickets of one job that follow. None where they are large, because they are copied,
-- or where one was changed. Returns where the cursor stands then, who is late, and how many were left.
-- The tickets that follow are read with a snapshot of their own, so it is as if another claim had taken them: the head
-- was moved by the snapshot that read the first ticket, and moves on by this one.
-- p_jobs: all jobs of the ticket, p_bytes: what they add to a claim at most. p_offset: how many of them were taken.
-- Writes: spare.
create or replace function spares_leave(p_lane bigint, p_move bigint, p_xid bigint, p_ticket bigint, p_offset int,
  p_jobs bigint[], p_bytes int, p_now timestamptz,
  out head_xid bigint, out head_ticket bigint, out head_offset int, out late late_place[], out n int)
language plpgsql as $$
declare
  v_most constant int := spares_most();
  v_most_bytes constant int := 1048576;  -- of all jobs that were enqueued together
  v_jobs bigint[] := p_jobs[p_offset + 1 : p_offset + v_most];
  v_xid bigint; v_ticket bigint;
  v_snapshot pg_snapshot;
begin
  head_xid := p_xid; head_ticket := p_ticket; head_offset := p_offset; late := '{}';
  if v_jobs <> '{}' then
    if p_bytes <= v_most_bytes and spares_put(job_slot(v_jobs[1]), p_lane, p_move, v_jobs, p_now) then
      n := cardinality(v_jobs);
      head_offset := p_offset + n;
    end if;
    return;
  end if;
  select array_agg(t.jobs[1] order by t.xid, t.id), max(t.xid),
         (array_agg(t.id order by t.xid desc, t.id desc))[1], pg_current_snapshot()
    into v_jobs, v_xid, v_ticket, v_snapshot
    from (select k.xid, k.id, k.jobs, bool_and(cardinality(k.jobs) = 1 and k.bytes is not null) over w as is_single,
                 sum(k.bytes) over w as bytes
            from (select * from ticket k
                   where k.slot = ticket_slot(p_xid) and k.lane = p_lane and (k.xid, k.id) > (p_xid, p_ticket)
                     and (k.xid >= pg_current_xact_id_if_assigned()::text::bigint) is not true
                   order by k.xid, k.id limit v_most) k
          window w as (order by k.xid, k.id)) t
   where t.is_single and t.bytes <= v_most_bytes;
  if v_jobs is null or not spares_put(job_slot(v_jobs[1]), p_lane, p_move, v_jobs, p_now) then
    return;
  end if;
  n := cardinality(v_jobs);
  head_xid := v_xid; head_ticket := v_ticket; head_offset := 1;
  if head_xid > p_xid and xmin_of(v_snapshot) < head_xid then
    late := late_from(array(select x from xids_running(v_snapshot) x where x >= p_xid and x < head_xid));
  end if;
end $$;

-- spares_put_00 to spares_put_31, spares_put: write down these jobs of a ring child as spares. Nothing, and false,
-- where one was amended or is in another child. One function per child, as job_lines.
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function spares_put_%1$s(p_lane bigint, p_move bigint, p_jobs bigint[], p_now timestamptz)
        returns boolean
      language plpgsql as $body$
      begin
        insert into spare (lane, move, place, job_id, at, input, extras, max_attempts, start_by, deadline, linked)
        select p_lane, p_move, array_position(p_jobs, j.id), j.id, p_now, coalesce(j.input::text, 'null'),
               case when j.tagged then extras_text(j.extras, j.headers, j.source) end, j.max_attempts, j.start_by,
               j.deadline, j.linked
          from job_line_%1$s j
         where j.id = any (p_jobs)
           and not exists (select from amendment_%1$s where job_id = any (p_jobs))
           and (select count(*) from job_%1$s where id = any (p_jobs)) = cardinality(p_jobs);
        return found;
      end $body$ $function$, lpad(i::text, 2, '0'));
  end loop;
  execute 'create or replace function spares_put(p_slot smallint, p_lane bigint, p_move bigint, p_jobs bigint[], '
    || 'p_now timestamptz) returns boolean language plpgsql as $body$ begin '
    || (select string_agg(format('if p_slot < %s then return case p_slot %s end; end if; ', e.below, e.calls), ''
          order by e.below)
          from (select (i / 8 + 1) * 8 as below,
                       string_agg(format('when %s then spares_put_%s(p_lane, p_move, p_jobs, p_now)', i,
                         lpad(i::text, 2, '0')), ' ') as calls
                  from generate_series(0, 31) i group by i / 8) e)
    || ' end $body$';
end $do$;

-- spares_most: how many jobs a claim leaves for others at most: the rest of a ticket. With 31, three times as many have
-- to wait for the lane.
create or replace function spares_most() returns int
language sql immutable parallel safe as $$ select 99 $$;

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
       where case when case when p_lanes is null then o.at < clock_now() - interval '1 second'
                            else o.lane = any (p_lanes) end  -- in this order: no lock is taken in vain
               then pg_try_advisory_xact_lock_shared(lane_spares(o.lane))
                 and pg_try_advisory_xact_lock(job_mark(o.job_id))
             end
       limit 200 for update skip locked))
    returning *)
  insert into postponed (job_id, lane, track, xid, attempt, version, alone)
  select job_id, lane, lane, xid, 1, 0, false from gone;
  get diagnostics v_n = row_count;
  if v_n > 0 then
    perform postponed_return(p_lanes);
  end if;
  return v_n;
end $$;

-- spares_recall: jobs that were left for others are changed, or end: who looks for them next reads the job. The caller
-- keeps others from them, and from leaving them again. Writes: spare, postponed.
create or replace function spares_recall(p_lanes bigint[], p_jobs bigint[]) returns void
language plpgsql as $$
begin
  with gone as (
    delete from spare where lane = any (p_lanes) and job_id = any (p_jobs) returning *)
  insert into postponed (job_id, lane, track, xid, attempt, version, alone)
  select job_id, lane, lane, xid, 1, 0, false from gone;
end $$;

-- spares_of: the lanes of these queues in which jobs were left.
create or replace function spares_of(p_queues int[]) returns bigint[]
language sql volatile as $$
  select array(select distinct o.lane from spare o join lane l on l.key = o.lane where l.queue_id = any (p_queues))
$$;
