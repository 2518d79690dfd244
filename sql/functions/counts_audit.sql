-- Counts and what they count. The counts of a lane (lane_depth and the deltas in tally) are kept beside the logs, in the same transactions; here they are proved by the logs,
-- in one snapshot: these functions are stable, so all their statements see that of the statement that calls them. A table that is emptied and filled again after that snapshot was taken looks empty
-- to it; whoever acts on what is found here takes books_lock before.

-- lane_waiting: every place where a job of a lane waits: in a track beyond its cursor, put aside because somebody holds it, in the agenda, or there in a chain, due. Void tickets are not places, nor are those of jobs that are gone.
-- is_dropped: it was purged or shed, and only its place is left. At most p_most of each kind. The cost is that of reading them, and a probe for each group.
create or replace function lane_waiting(p_lane bigint, p_most int) returns table (job_id bigint, place text, is_staged boolean, is_dropped boolean)
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
begin
  return query
  with track as materialized (
    select p_lane as key union select p_lane + 1
    union select c.track from lane_cursor c where c.lane = p_lane
    union select x.key from (  -- groups that nobody has visited yet: each is still in line
      select unnest(k.jobs) as key from ticket k left join lateral (select * from lane_cursor c where c.track = p_lane + 2 order by c.seq desc limit 1) c on true
       where k.lane = p_lane + 2 and (c.track is null or k.xid >= c.head_xid or k.xid = any (c.late_xids))) x
     where not exists (select from lane_cursor c where c.track = x.key)
  ), reader as materialized (  -- who will read the track, from where on: its cursor, and those of ranges that were set aside
    select t.key, c.c, null::pg_snapshot as seen from track t left join lateral (select c from lane_cursor c where c.track = t.key and c.seq >= 0 order by c.seq desc limit 1) c on true
    union all
    select s.track, s, r.snapshot from aside r join lane_cursor s on s.track in (p_lane, p_lane + 1) and s.seq >= aside_seq(r.n) and s.seq < aside_seq(r.n - 1) where r.lane = p_lane
  ), ahead as (
    select u.id, k.version from reader r
     cross join lateral (
       select k.xid, k.id, k.version, k.jobs from ticket k where k.lane = r.key and k.xid >= coalesce((r.c).head_xid, 0)
       union all
       select k.xid, k.id, k.version, k.jobs from unnest((r.c).late_xids) late (xid) join ticket k on k.lane = r.key and k.xid = late.xid) k
     cross join lateral (select case when (r.c).track is null then 1 else ticket_first(r.c, k.xid, k.id) end as first) f
     cross join lateral unnest(k.jobs[f.first:]) u (id)
     where f.first is not null and (r.seen is null or pg_visible_in_snapshot(k.xid::text::xid8, r.seen))
       and (r.key & -4 = p_lane or not exists (  -- groups follow a purge when their turn comes
         select from lane_purge p where p.lane = p_lane and p.before is null
            and case when k.xid = p.own_xid then k.id < p.own_ticket else pg_visible_in_snapshot(k.xid::text::xid8, p.snapshot) end))
     limit p_most
  )
  select a.id, 'track', false, job_purged_at(j, m) is not null
    from ahead a join job j on j.slot = job_slot(a.id) and j.id = a.id left join amendment m on m.slot = job_slot(a.id) and m.job_id = a.id
   where (m.version > a.version) is not true
  union all
  (select o.job_id, 'postponed', false, job_purged_at(j, m) is not null from postponed o join job j on j.slot = job_slot(o.job_id) and j.id = o.job_id left join amendment m on m.slot = job_slot(o.job_id) and m.job_id = o.job_id
    where o.lane = p_lane and (m.version > o.version) is not true
      and not exists (select from lane_purge p where p.lane = p_lane and p.before is null and purge_saw(p, o.xid, o.job_id)) limit p_most)
  union all
  (select g.job_id, case when g.chain = 1 then 'chain' else 'agenda' end, g.stage is not null, agenda_dropped(g) from agenda g where g.lane = p_lane limit p_most);
end $$;

-- books_lock: nobody empties the tables that counts are proved by, until the end of this transaction. Locks: each of them, in the mode of readers.
create or replace function books_lock() returns void
language plpgsql as $$
begin
  lock table tally, lane_depth, claim, agenda, lane_cursor, job, amendment in access share mode;
end $$;

-- lane_truth: what the counts of a lane say, what they should say, and how many jobs really wait (live: those that were dropped are counted until their place is passed).
-- is_known: fewer than p_most wait, so that it is the truth.
create or replace function lane_truth(p_lane bigint, p_most int, out counted_ready bigint, out counted_delayed bigint, out counted_staged bigint,
  out ready bigint, out delayed bigint, out staged bigint, out live bigint, out is_known boolean)
language plpgsql stable as $$
begin
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0), coalesce(sum(d.staged), 0) into counted_ready, counted_delayed, counted_staged
    from (select x.ready, x.delayed, x.staged from lane_depth x where x.lane = p_lane union all select y.ready, y.delayed, y.staged from tally y where y.lane = p_lane) d;
  select count(*) filter (where w.place <> 'agenda'), count(*) filter (where w.place = 'agenda'), count(*) filter (where w.is_staged), count(*) filter (where not w.is_dropped), count(*) < p_most
    into ready, delayed, staged, live, is_known from lane_waiting(p_lane, p_most) w;
end $$;

-- counts_audit: lanes whose counts are not what the logs say; nothing when all is well. Reads all that waits, at most p_most jobs of a lane; lanes with more are left out.
create or replace function counts_audit(p_queue text default null, p_most int default 100000)
returns table (queue text, type text, priority smallint, counted_ready bigint, ready bigint, counted_delayed bigint, delayed bigint, counted_staged bigint, staged bigint)
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return query
  select q.name, l.type, l.priority, t.counted_ready, t.ready, t.counted_delayed, t.delayed, t.counted_staged, t.staged
    from lane_known l join queue q on q.id = l.queue_id cross join lateral lane_truth(l.key, p_most) t
   where (p_queue is null or q.name = p_queue) and t.is_known
     and (t.counted_ready, t.counted_delayed, t.counted_staged) is distinct from (t.ready, t.delayed, t.staged)
   order by 1, 2, 3;
end $$;

-- lane_recount: where the counts of a lane are not what the logs say, put them right, on record. Whoever changes them meanwhile adds a difference, as this does. False when they were right, or more than
-- p_most wait. The caller has books_lock. Writes: tally, queue_event.
create or replace function lane_recount(p_lane bigint, p_most int) returns boolean
language plpgsql as $$
declare
  t record;
begin
  with truth as materialized (
    select x.* from lane_truth(p_lane, p_most) x where x.is_known and (x.counted_ready, x.counted_delayed, x.counted_staged) is distinct from (x.ready, x.delayed, x.staged)
  ), put_right as (
    insert into tally (lane, ready, delayed, staged) select p_lane, x.ready - x.counted_ready, x.delayed - x.counted_delayed, x.staged - x.counted_staged from truth x)
  select * into t from truth;
  if not found then
    return false;
  end if;
  perform queue_event_add(q.name, 'recounted', 'millrace', format('type %s, priority %s: ready %s, not %s; delayed %s, not %s; staged %s, not %s',
      l.type, l.priority, t.ready, t.counted_ready, t.delayed, t.counted_delayed, t.staged, t.counted_staged), l.type)
    from lane_known l join queue q on q.id = l.queue_id where l.key = p_lane;
  return true;
end $$;

-- counts_prove: what upkeep does of it: one time in five a lane by chance, and always one of a closed queue that has not finished, which a wrong count must not keep from it; where at most a thousand
-- jobs wait. The caller has books_lock.
create or replace function counts_prove() returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_from constant bigint := hashint8extended((random() * 1e15)::bigint, 0);
  v_lane bigint;
begin
  if random() < 0.2 then  -- one of some neighbours, so that none is left out because its key follows closely on another's
    select x.key into v_lane from (
      (select l.key from lane l where l.key >= v_from order by l.key limit 20) union all (select l.key from lane l where l.key < v_from order by l.key desc limit 20)) x order by random() limit 1;
    perform lane_recount(v_lane, 1000);
  end if;
  select l.key into v_lane from queue q join lane l on l.queue_id = q.id where q.closed_at is not null and q.finished_at is null order by random() limit 1;
  if found then
    perform lane_recount(v_lane, 1000);
  end if;
end $$;
