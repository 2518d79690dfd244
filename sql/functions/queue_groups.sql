-- queue_groups: how much of a queue waits (ready or blocked), is delayed and runs for each group, and for how long the oldest that waits could have run; the one with the most waiting first.
-- Jobs without a group are counted together, under null. Scans the live part of the log: tickets that the cursors have not passed, the agenda
-- and the claims. It costs more the longer the backlog is; when that is a good part of the log, the planner may read the log as a whole. These name more than the live jobs (cancelled, expired and purged ones
-- among them); the state of each decides, so a job on its way from one to the other is counted once.
-- The limits let the planner go from the few ids to their jobs, through the view: without, it would compute the view for all. Raises: MR001, MR003.
create or replace function queue_groups(p_queue text default 'default', p_limit int default 100)
  returns table ("group" text, waiting bigint, delayed bigint, running bigint, oldest_age_seconds float8)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_custom_plan set join_collapse_limit = 20 set from_collapse_limit = 20 as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_now constant timestamptz := clock_now();
  v_live bigint[];  -- read first, so that the planner knows how many there are
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  with own as materialized (
    select l.key as lane, t.key, c.head_xid, c.late_xids
      from lane_known l cross join lateral (values (l.key), (l.key + 1), (l.key + 2)) t (key)
      left join lateral (select k.head_xid, k.late_xids from lane_cursor k where k.track = t.key order by k.seq desc limit 1) c on true
     where l.queue_id = v_queue_id
  ), line as (  -- every group that has something waiting is in line
    select o.lane, unnest(k.jobs) & -4 as key from own o join ticket k on k.lane = o.key and k.xid >= coalesce(o.head_xid, 0) where o.key = o.lane + 2
    union
    select o.lane, unnest(k.jobs) & -4 from own o cross join unnest(o.late_xids) late (xid) join ticket k on k.lane = o.key and k.xid = late.xid where o.key = o.lane + 2
  ), track as materialized (
    select * from own where key <> lane + 2
    union all
    select l.lane, t.key, c.head_xid, c.late_xids
      from line l cross join lateral (values (l.key), (l.key + 1)) t (key)
      left join lateral (select k.head_xid, k.late_xids from lane_cursor k where k.track = t.key order by k.seq desc limit 1) c on true
  ), live as (
    select unnest(k.jobs) as id from track t join ticket k on k.lane = t.key and k.xid >= coalesce(t.head_xid, 0)
    union
    select unnest(k.jobs) from track t cross join unnest(t.late_xids) late (xid) join ticket k on k.lane = t.key and k.xid = late.xid
    union
    select unnest(k.jobs) from own t join lane_cursor s on s.track = t.key and s.seq < 0 join ticket k on k.lane = s.track and (k.xid >= s.head_xid or k.xid = any (s.late_xids))
    union
    select p.job_id from postponed p where p.lane in (select t.lane from own t)
    union
    select g.job_id from agenda g where g.lane in (select t.lane from own t)
    union
    select unnest(c.jobs) from claim c where c.lane in (select t.lane from own t)
  )
  select array_agg(id) into v_live from live;
  return query
  select v."group", count(*) filter (where v.state in ('ready', 'blocked')), count(*) filter (where v.state = 'delayed'), count(*) filter (where v.state = 'running'),
         age_seconds(v_now, min(greatest(v.created_at, v.run_at)) filter (where v.state in ('ready', 'blocked')))
    from unnest(v_live) u (id) join jobs v on v.id = u.id
   where v.state in ('ready', 'blocked', 'delayed', 'running')
   group by 1 order by 2 desc, 3 desc, 4 desc, 1 limit p_limit;
end $$;
