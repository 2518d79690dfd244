-- Counts and what they count. The counts of a lane (lane_depth and the differences in tally) are kept beside the logs,
-- in the same transactions. Here they are proved by the logs, in one snapshot: these functions are stable, so all their
-- statements see the snapshot of the statement that calls them. A table that was emptied and filled again after that
-- snapshot looks empty to it; so a caller who acts on what is found here takes books_lock first.

-- lane_waiting: every place where a job of a lane waits: in a track beyond its cursor, put aside because somebody holds
-- it or left for another claim, in the agenda, or there in a chain, due. Void tickets are not places, nor are those of
-- jobs that are gone.
-- is_dropped: it was purged or shed, and only its place is left. At most p_most of each kind. The cost is that of
-- reading them, and a probe for each group.
create or replace function lane_waiting(p_lane bigint, p_most int)
  returns table (job_id bigint, place text, is_staged boolean, is_dropped boolean)
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
begin
  return query
  with track as materialized (
    select p_lane as key union select again_of(p_lane)
    union select c.track from lane_cursor c where c.lane = p_lane
    union select x.key from (  -- groups that nobody has visited yet: each is still in line
      select unnest(k.jobs) as key from ticket k
        left join lateral (select * from lane_cursor c
                            where c.track = line_of(p_lane)
                            order by c.seq desc limit 1) c on true
       where k.lane = line_of(p_lane) and (c.track is null or k.xid >= c.head_xid or k.xid = any (late_xids(c.late)))) x
     where not exists (select from lane_cursor c where c.track = x.key)
  -- who will read the track, from where on: its cursor, and those of ranges that were set aside
  ), reader as materialized (
    select t.key, c.c, null::pg_snapshot as seen from track t
      left join lateral (select c from lane_cursor c
                          where c.track = t.key and c.seq >= 0
                          order by c.seq desc limit 1) c on true
    union all
    select s.track, s, r.snapshot from aside r
      join lane_cursor s on s.track in (p_lane, again_of(p_lane))
        and s.seq >= aside_seq(r.n)
        and s.seq < aside_seq(r.n - 1)
     where r.lane = p_lane
  ), ahead as (
    select u.id, k.version from reader r
     cross join lateral (
       select k.xid, k.id, k.version, k.jobs from ticket k where k.lane = r.key and k.xid >= coalesce((r.c).head_xid, 0)
       union all
       select k.xid, k.id, k.version, k.jobs from unnest((r.c).late) late
         join ticket k on k.lane = r.key and k.xid = late.xid) k
     cross join lateral (select case when (r.c).track is null then 1 else ticket_first(r.c, k.xid, k.id) end as first) f
     cross join lateral unnest(k.jobs[f.first:]) u (id)
     where f.first is not null and (r.seen is null or xid_seen(k.xid, r.seen))
       and (fresh_of(r.key) = p_lane or not exists (  -- groups follow a purge when their turn comes
         select from lane_purge p where p.lane = p_lane and p.before is null
            and case when k.xid = p.own_xid then k.id < p.own_ticket else xid_seen(k.xid, p.snapshot) end))
     limit p_most
  )
  select a.id, 'track', false, job_purged_at(j, m) is not null
    from ahead a
    join job j on j.slot = job_slot(a.id) and j.id = a.id
    left join amendment m on m.slot = job_slot(a.id) and m.job_id = a.id
   where (m.version > a.version) is not true
  union all
  (select o.job_id, 'postponed', false, job_purged_at(j, m) is not null
     from (select p.lane, p.job_id, p.xid, p.version from postponed p
           union all select s.lane, s.job_id, s.xid, 0 from spare s) o
     join job j on j.slot = job_slot(o.job_id) and j.id = o.job_id
     left join amendment m on m.slot = job_slot(o.job_id) and m.job_id = o.job_id
    where o.lane = p_lane and (m.version > o.version) is not true
      and not exists (select from lane_purge p
                       where p.lane = p_lane and p.before is null and purge_saw(p, o.xid, o.job_id)) limit p_most)
  union all
  (select g.job_id, case when g.chain = 1 then 'chain' else 'agenda' end, g.stage is not null, agenda_dropped(g)
     from agenda g
    where g.lane = p_lane limit p_most);
end $$;

-- books_lock: nobody empties the tables that counts are proved by, until the end of this transaction. Locks: each of
-- them, in the mode of readers.
create or replace function books_lock() returns void
language plpgsql as $$
begin
  lock table tally, lane_depth, claim, agenda, spare, lane_cursor, job, amendment in access share mode;
end $$;

-- lane_truth: what the counts of a lane say, what they should say, and how many jobs really wait (live): those that
-- were dropped are counted until their place is passed. is_known: fewer than p_most wait, so that it is the truth.
create or replace function lane_truth(p_lane bigint, p_most int,
  out counted_ready bigint, out counted_delayed bigint, out counted_staged bigint, out ready bigint, out delayed bigint,
  out staged bigint, out live bigint, out is_known boolean)
language plpgsql stable as $$
begin
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0), coalesce(sum(d.staged), 0)
    into counted_ready, counted_delayed, counted_staged
    from (select x.ready, x.delayed, x.staged from lane_depth x
           where x.lane = p_lane
          union all
          select y.ready, y.delayed, y.staged from tally y
           where y.lane = p_lane) d;
  select count(*) filter (where w.place <> 'agenda'), count(*) filter (where w.place = 'agenda'),
         count(*) filter (where w.is_staged), count(*) filter (where not w.is_dropped), count(*) < p_most
    into ready, delayed, staged, live, is_known from lane_waiting(p_lane, p_most) w;
end $$;
