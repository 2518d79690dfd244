-- lane_shed: let a lane's cursors pass over jobs that were dropped, up to 100,000 of each track. The caller has the
-- lane's lock. Tells whether claims may still meet dropped jobs, and whether there are more of them right here. Those
-- of groups are passed over when their turn comes. Writes: lane_cursor, tally, lane_purge.
create or replace function lane_shed(p_lane bigint, out is_open boolean, out more boolean, out dropped bigint)
language plpgsql as $$
declare
  v_end bigint;
  v_track bigint;
  s record;
  r aside;
begin
  more := false; dropped := 0;
  select max(xmax_of(p.snapshot)) into v_end from lane_purge p where p.lane = p_lane and p.is_open;
  is_open := v_end is not null;
  if not is_open then
    return;
  end if;
  foreach v_track in array array[p_lane, again_of(p_lane)] loop
    for i in 1 .. 5 loop
      s := track_shed(p_lane, track_cursor(v_track), null);
      dropped := dropped + s.dropped;
      exit when s.passed = 0;
    end loop;
    more := more or s.passed > 0;
    for r in select * from aside x where x.lane = p_lane order by x.n limit 1 loop
      s := track_shed(p_lane, aside_cursor(v_track, r.n), r.snapshot);
      dropped := dropped + s.dropped;
      more := more or s.passed > 0;
    end loop;
  end loop;
  -- Past the end of its snapshot nothing can have been dropped, but for what claims have put aside or left for others:
  -- that stands in no track until it returns.
  if not exists (select from aside x where x.lane = p_lane)
    and not exists (select from postponed o where o.lane = p_lane)
    and not exists (select from spare o where o.lane = p_lane)
    and not exists (select from lane l where l.key = p_lane and l.grouped)
    and not exists (
      select from (values (p_lane), (again_of(p_lane))) t (key)
        cross join lateral track_cursor(t.key) c
       where (c.head_xid < v_end and (track_read(c, 1)).jobs is not null)
          or exists (select from unnest(c.late) l
                       join lane_purge p on p.lane = p_lane and p.is_open
                                        and (l.xid = p.own_xid or xid_seen(l.xid, p.snapshot)))) then
    update lane_purge p set is_open = false where p.lane = p_lane and p.is_open;
    is_open := false;
  end if;
end $$;

-- track_shed: move a cursor past the jobs next to it that were dropped, 20,000 at most. Returns how many it passed, and
-- how many of them were waiting until then. Fresh tickets carry the transaction of their jobs, so where no group is
-- named the tickets tell, without a look at the jobs.
-- Writes: lane_cursor, tally.
create or replace function track_shed(p_lane bigint, c lane_cursor, p_seen pg_snapshot, out passed int, out dropped int)
language plpgsql as $$
declare
  r track_reading;
  v_dropped bigint[];
  v_moved boolean;
  v_quick constant boolean := c.track & 1 = 0
    and not exists (select from lane_purge p where p.lane = p_lane and p.is_open and p.group_key is not null);
begin
  passed := 0; dropped := 0;
  if exists (select from lane_purge p
              where p.lane = p_lane and p.before is null and xmax_of(p.snapshot) > c.head_xid) then
    return;  -- a group that has not followed a purge yet (turns_read): what it stands before is no longer counted
  end if;
  r := track_read(c, case when v_quick then 20000 else 500 end, p_seen);
  if r.jobs is null then
    return;
  elsif v_quick then
    passed := (select min(u.i) - 1 from unnest(r.jobs, r.xids) with ordinality u (id, xid, i)
                where not exists (select from lane_purge p
                                   where p.lane = p_lane and p.is_open and purge_saw(p, u.xid, u.id)));
  else
    v_dropped := jobs_dropped(p_lane, r.jobs);
    passed := (select min(u.i) - 1 from unnest(r.jobs) with ordinality u (id, i) where u.id <> all (v_dropped));
  end if;
  passed := coalesce(passed, cardinality(r.jobs));
  if passed > 0 then
    v_moved := track_advance(r, passed);
    dropped := jobs_uncount(p_lane, r.jobs[1:passed], r.versions[1:passed]);
  end if;
end $$;

-- jobs_dropped: which of some jobs of a lane were dropped while they waited.
create or replace function jobs_dropped(p_lane bigint, p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
  v_before constant bigint := (select max(p.before) from lane_purge p where p.lane = p_lane and p.is_open);
begin
  return array(
    select u.id from unnest(p_jobs) u (id)
      join job j on j.slot = job_slot(u.id) and j.id = u.id
      left join amendment m on m.slot = job_slot(u.id) and m.job_id = u.id
     where u.id < v_before and job_purged_at(j, m) is not null);
end $$;

-- jobs_uncount: take dropped jobs out of the counts, except those that had left them before: cancelled, expired or
-- moved ones, which left a void ticket, and those that went with their day. Returns how many.
-- Writes: tally.
create or replace function jobs_uncount(p_lane bigint, p_jobs bigint[], p_versions int[]) returns int
language plpgsql as $$
declare
  v_n int;
begin
  v_n := (select count(*) from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id) - (
    select count(*)
      from (select array_agg(m.job_id) as ids, array_agg(m.version) as versions,
                   array_agg(m.closed_at is not null) as closed
              from amendment m
             where m.slot = any (array(select distinct job_slot(id) from unnest(p_jobs) id))
               and m.job_id between (select min(id) from unnest(p_jobs) id)
                                and (select max(id) from unnest(p_jobs) id)) few
      cross join lateral unnest(few.ids, few.versions, few.closed) m (id, version, closed)
      join unnest(p_jobs, p_versions) u (id, version) on u.id = m.id
     where m.closed or m.version > coalesce(u.version, 0));
  insert into tally (lane, ready) values (p_lane, -v_n);
  return v_n;
end $$;

-- groups_shed: let the cursors of a lane's groups pass over jobs that were dropped, of a thousand groups at most. When
-- no dropped job is left, claims need not look for them any more. Looks at 10,000 jobs at most; where more wait, each
-- group passes them when its turn comes. The caller has the lane's lock.
-- Writes: lane_cursor, tally, lane_purge.
create or replace function groups_shed(p_lane bigint) returns void
language plpgsql as $$
declare
  v_most constant int := 10000;
  v_tracks bigint[];
  v_waiting int;
begin
  perform books_lock();
  select count(*), array_agg(distinct group_track(p_lane, j.group_key))
                     filter (where w.is_dropped and w.place in ('track', 'postponed'))
    into v_waiting, v_tracks
    from lane_waiting(p_lane, v_most) w
    join job j on j.slot = job_slot(w.job_id) and j.id = w.job_id;
  if v_tracks is null and v_waiting < v_most then
    update lane_purge p set is_open = false where p.lane = p_lane and p.is_open;
    return;
  end if;
  v_tracks := v_tracks[1:1000];
  perform tracks_open(v_tracks, p_lane);
  perform track_shed(p_lane, track_cursor(t.track + o.again), null)
    from unnest(v_tracks) t (track)
    cross join (values (0), (1)) o (again);
end $$;

-- sheds_pass: what maintenance does for lanes nobody claims from. Skips busy lanes.
create or replace function sheds_pass() returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_lane bigint;
begin
  for v_lane in select distinct lane from lane_purge where is_open order by lane limit 100 loop
    continue when not pg_try_advisory_xact_lock(lane_lock(v_lane));
    perform lane_shed(v_lane);
    perform groups_shed(v_lane)
      from lane l
     where l.key = v_lane and l.grouped and exists (select from lane_purge p where p.lane = v_lane and p.is_open);
  end loop;
end $$;
