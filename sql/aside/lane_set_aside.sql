-- lane_set_aside: write down what waits in a lane as a range of its own, to be handed out when nothing else is, and let
-- the lane's cursors go on at the end of the log. The cost does not depend on how much that is. Returns false when
-- nothing waits.
-- The range has what a snapshot saw and the cursors had not passed. The cursors have what the snapshot did not see, as
-- after a purge: a transaction that was running then is late. So every job belongs to one of the two. This transaction
-- counts as running, and so do those that began between the snapshot and it.
-- The caller has the lane's lock. Writes: aside, lane_cursor.
create or replace function lane_set_aside(p_lane bigint) returns boolean
language plpgsql as $$
declare
  v_own constant bigint := xid_now();
  v_snapshot constant pg_snapshot := pg_current_snapshot();
  v_xmax constant bigint := xmax_of(v_snapshot);
  v_end constant bigint := greatest(v_xmax, v_own);
  v_running constant bigint[] := array(
    select x from xids_running(v_snapshot) x
    union select generate_series(v_xmax, v_own - 1)
    union select v_own where v_own < v_xmax order by 1);
  v_seen constant pg_snapshot := (
    least(xmin_of(v_snapshot), v_own) || ':' || v_end || ':' || array_to_string(v_running, ','))::pg_snapshot;
  v_n bigint;
begin
  if (track_read(track_cursor(p_lane), 1)).jobs is null
    and (track_read(track_cursor(again_of(p_lane)), 1)).jobs is null then
    return false;
  end if;
  insert into aside (lane, snapshot, set_at) values (p_lane, v_seen, clock_now()) returning n into v_n;
  with c as materialized (
    select c.* from (values (p_lane), (again_of(p_lane))) t (key)
      cross join lateral (select * from lane_cursor c where c.track = t.key order by c.seq desc limit 1) c
  ), kept as (
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late)
    select c.track, aside_seq(v_n), c.head_xid, c.head_ticket, c.head_offset, array(
             select (l.xid, l.ticket, l.skip)::late_place from unnest(c.late) with ordinality l
              where xid_seen(l.xid, v_seen) order by l.ordinality)
      from c
  ), fresh as (
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late, lane, turn, credit, since, served)
    select c.track, c.seq + 1, v_end, case when v_end = v_own then own.ticket else 0 end,
           case when v_end = v_own then own.skip else 0 end,
           array(select case when x = v_own then (x, own.ticket, own.skip)::late_place else (x, 0, 0)::late_place end
                   from unnest(v_running) x order by x),
           c.lane, c.turn, c.credit, c.since, c.served
      from c
      -- of its own jobs this transaction may have taken some; of others who still run nobody has
      left join lateral (select l.ticket, l.skip from unnest(c.late) l where l.xid = v_own limit 1) late on true
      cross join lateral (
        select coalesce(late.ticket, case when c.head_xid = v_own then c.head_ticket end, 0) as ticket,
               coalesce(late.skip, case when c.head_xid = v_own then c.head_offset end, 0) as skip) own
  )
  delete from lane_cursor k using c where k.track = c.track and k.seq = c.seq;
  return true;
end $$;

-- aside_seq: the first seq of the cursors of a range; each has room for 2^32.
create or replace function aside_seq(p_n bigint) returns bigint
language sql immutable parallel safe as $$ select -(p_n << 32) $$;

-- aside_cursor: where a track stands inside a range that was set aside.
create or replace function aside_cursor(p_track bigint, p_n bigint) returns lane_cursor
language sql volatile as $$
  select c from lane_cursor c
   where c.track = p_track and c.seq >= aside_seq(p_n) and c.seq < aside_seq(p_n - 1)
   order by c.seq desc limit 1
$$;

-- aside_end: a range has nothing left. Returns true: there may be another one. Writes: aside, lane_cursor.
create or replace function aside_end(p_lane bigint, p_n bigint) returns boolean
language plpgsql as $$
begin
  delete from lane_cursor where track in (p_lane, again_of(p_lane)) and seq >= aside_seq(p_n)
    and seq < aside_seq(p_n - 1);
  delete from aside where lane = p_lane and n = p_n;
  return true;
end $$;

-- aside_next: the first jobs of what was set aside of a lane: p_most of each track of its oldest range. Moves nothing.
create or replace function aside_next(p_lane bigint, p_most int) returns bigint[]
language plpgsql as $$
declare
  r aside;
begin
  select * into r from aside x where x.lane = p_lane order by x.n limit 1;
  return array(
    select id from unnest(
      (track_read(aside_cursor(p_lane, r.n), p_most, r.snapshot)).jobs
      || (track_read(aside_cursor(again_of(p_lane), r.n), p_most, r.snapshot)).jobs) id
     order by id);
end $$;

-- readings_older: whether the next job of a lane has waited for more than p_seconds. One that comes back after an
-- attempt does not count: it is old by nature.
create or replace function readings_older(f track_reading, a track_reading, p_seconds float8) returns boolean
language plpgsql as $$
declare
  v_time constant timestamptz := clock_now() - make_interval(secs => p_seconds);
begin
  return coalesce(least(f.jobs[1], f.jobs[f.late_count + 1]) < job_id_at(v_time), false)
      or coalesce(a.attempts[1] = 1 and a.versions[1] = 0 and a.jobs[1] < job_id_at(v_time), false)
         and exists (select from job j where j.slot = job_slot(a.jobs[1]) and j.id = a.jobs[1] and j.run_at < v_time);
end $$;
