-- queue_groups: how much of a queue waits, ready and blocked apart, is delayed and runs for each group, what share of
-- all that waits it has, and for how long the oldest that waits could have run; the one with the most waiting first.
-- Jobs without a group are counted together, under null. Exact up to 10,000 jobs that wait or are delayed. Beyond that
-- waiting and delayed are estimates: 5000 jobs of tickets and 5000 of the agenda, by chance, tell the share of each
-- group, and the depth is known. What runs, and the age of the oldest, is exact then too, for the groups that are
-- listed; one with little may be missing. A paused group is never missing, whatever it has: a person has to find it to
-- resume it; of such groups what waits is counted (groups_paused). So the cost depends neither on the backlog nor on
-- the number of groups. Raises: MR001, MR003.
create or replace function queue_groups(p_queue text default 'default', p_limit int default 100)
returns table ("group" text, waiting bigint, ready bigint, blocked bigint, delayed bigint, running bigint,
  oldest_age_seconds float8, share float8, estimated boolean)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_lanes constant bigint[] := array(select l.key from lane_known l where l.queue_id = v_queue_id);
  v_held constant boolean := queue_held(v_queue_id);
  v_types constant text[] := array(
    select b.type from type_blocked b where b.queue_id = v_queue_id and b.until > clock_now());
  v_waiting bigint; v_delayed bigint; v_sample int;
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0) into v_waiting, v_delayed
    from (select x.lane, x.ready, x.delayed from lane_depth x
          union all
          select y.lane, y.ready, y.delayed from tally y) d
   where d.lane = any (v_lanes);
  if v_waiting + v_delayed > 10000 then
    v_sample := 5000;
  end if;
  return query
  with part as (
    select x.type, x.group_key, coalesce(sum(x.jobs) filter (where x.state = 'waiting'), 0) as waiting,
           count(*) filter (where x.state = 'delayed') as delayed,
           count(*) filter (where x.state = 'running') as running,
           min(x.since) filter (where x.state = 'waiting') as oldest
      from jobs_live(v_lanes, v_sample) x group by 1, 2
  ), counted as (
    select p.group_key, sum(p.waiting) as waiting, sum(p.delayed) as delayed, sum(p.running)::bigint as running,
           min(p.oldest) as oldest,
           coalesce(sum(p.waiting) filter (where v_held or p.type = any (v_types) or z.group_key is not null
                                              or zt.group_key is not null), 0) as blocked
      from part p
      left join (select distinct n.group_key from pause n
                  where n.queue_id = v_queue_id and n.group_key is not null and n.type is null) z
        on z.group_key = p.group_key
      left join (select distinct n.group_key, n.type from pause n
                  where n.queue_id = v_queue_id and n.group_key is not null and n.type is not null) zt
        on zt.group_key = p.group_key and zt.type = p.type
     group by 1
  ), scaled as (
    select c.group_key, c.running, c.oldest, f.waits * c.waiting as waiting, f.waits * c.blocked as blocked,
           f.waits_later * c.delayed as delayed
      from counted c
      cross join (select case when v_sample is null then 1 else coalesce(v_waiting / nullif(sum(x.waiting), 0), 0) end
                           as waits,
                         case when v_sample is null then 1 else coalesce(v_delayed / nullif(sum(x.delayed), 0), 0) end
                           as waits_later
                    from counted x) f
  ), paused as (
    select * from groups_paused(v_queue_id, v_types, v_sample is not null)
  ), known as (  -- where a group has too much to be counted, the larger number is nearer
    select coalesce(s.group_key, p.group_key) as group_key, s.running, s.oldest, s.delayed,
           p.group_key is not null as is_paused,
           case when v_sample is null or p.group_key is null then s.waiting
                when p.is_exact then p.waiting else greatest(p.waiting, s.waiting) end as waiting,
           case when v_sample is null or p.group_key is null then s.blocked
                when v_held then case when p.is_exact then p.waiting else greatest(p.waiting, s.waiting) end
                when p.is_exact then p.blocked else greatest(p.blocked, s.blocked) end as blocked
      from scaled s full join paused p on p.group_key = s.group_key
  ), rounded as (
    select k.group_key, k.oldest, k.is_paused, round(coalesce(k.waiting, 0))::bigint as waiting,
           round(coalesce(k.blocked, 0))::bigint as blocked, round(coalesce(k.delayed, 0))::bigint as delayed,
           coalesce(k.running, 0) as running,
           coalesce(k.waiting / nullif(sum(k.waiting) over (), 0), 0)::float8 as share
      from known k
  ), top as materialized (
    select * from rounded r
     order by r.is_paused desc, r.waiting desc, r.delayed desc, r.running desc, r.group_key limit p_limit
  )
  select t.group_key, t.waiting, greatest(t.waiting - t.blocked, 0), least(t.waiting, t.blocked), t.delayed, t.running,
         age_seconds(clock_now(), least(t.oldest, o.since)), t.share, v_sample is not null
    from top t
    left join groups_oldest(
                v_lanes, array(select x.group_key from top x where v_sample is not null and x.waiting > 0)) o
      on o.group_key is not distinct from t.group_key
   order by t.waiting desc, t.delayed desc, t.running desc, t.group_key;
end $$;

-- groups_paused: the groups of a queue that are paused, in all types or in some, up to a thousand. With p_count also
-- how much of each waits, and how much of that is of types that it is paused in, or that are held themselves (p_types):
-- in a thousand tickets of each of its tracks. So many groups, in so many of the fullest lanes, are 20,000 tracks at
-- most.
create or replace function groups_paused(p_queue_id int, p_types text[], p_count boolean)
  returns table (group_key text, waiting bigint, blocked bigint, is_exact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
  with held as materialized (
    select z.group_key, bool_or(z.type is null) as is_whole, array_agg(z.type) as types
      from pause z where z.queue_id = p_queue_id and z.group_key is not null
     group by 1 order by max(z.paused_at) desc, 1 limit 1000
  ), full_lane as (
    select l.key, l.type
      from (select x.lane, sum(x.ready) as ready
              from (select y.lane, y.ready from lane_depth y union all select t.lane, t.ready from tally t) x
             where p_count group by x.lane having sum(x.ready) > 0) d
      join lane_known l on l.key = d.lane and l.queue_id = p_queue_id
     order by d.ready desc limit (select 20000 / greatest(1, count(*)) from held)
  ), typed as materialized (
    select f.type, array_agg(f.key) as keys from full_lane f group by 1
  )
  select h.group_key, coalesce(sum(n.jobs), 0)::bigint,
         coalesce(sum(n.jobs) filter (where h.is_whole or t.type = any (h.types || p_types)), 0)::bigint,
         coalesce(bool_and(n.is_exact), true)
    from held h
    left join typed t on true
    left join lateral tracks_waiting(
      array(select group_track(k.key, h.group_key) + a.n
              from unnest(t.keys) k (key) cross join (values (0), (1)) a (n)),
      null, 1000) n on t.keys is not null
   group by 1;
end $$;

-- jobs_live: the live jobs of lanes with their types and groups, what they do, and since when those that wait could
-- have run. With p_sample about so many of tickets and of the agenda, by chance. Of tickets, the jobs at equal
-- distances in the order of their tracks are taken, each of which stands for as many as there are between two (jobs).
-- So a ticket of a thousand jobs counts a thousand times, and the share of a group is wrong by one of those distances
-- at most. A job waits when it is in a ticket that its track's cursor has not passed, or put aside by a claim, unless
-- it was moved, has ended or expired, or was dropped.
create or replace function jobs_live(p_lanes bigint[], p_sample int)
  returns table (queue_id int, type text, group_key text, state text, jobs float8, since timestamptz)
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_aside constant boolean := exists (select from aside where lane = any (p_lanes));
  v_start constant float8 := random();
  v_queues constant int[] := array(select distinct l.queue_id from lane_known l where l.key = any (p_lanes));
begin
  return query
  with ahead as materialized (
    select k.*, f.first, cardinality(k.jobs) - f.first + 1 as n
      from (select * from tickets_ahead(p_lanes)
             where p_sample is null
            union all
            select * from tickets_sampled(400)
             where p_sample is not null) k
      left join lateral (select * from lane_cursor c where c.track = k.lane order by c.seq desc limit 1) c on true
      cross join lateral (  -- the first of its jobs that was not passed
        select case when c.track is null or (k.xid, k.id) > (c.head_xid, c.head_ticket) then 1
                    when v_aside and fresh_of(k.lane) = any (p_lanes)
                      then coalesce(aside_first(k.lane, k.xid, k.id), ticket_first(c, k.xid, k.id))
                    when k.xid = c.head_xid and k.id = c.head_ticket or k.xid = any (late_xids(c.late))
                      then ticket_first(c, k.xid, k.id) end as first) f
     where f.first <= cardinality(k.jobs) and (fresh_of(k.lane) = any (p_lanes)
       or coalesce(c.lane = any (p_lanes), true))
  ), counted as (  -- upto: how many jobs there are up to the end of the ticket; each step-th of all is taken
    select a.*, sum(a.n) over (order by a.lane, a.xid, a.id) as upto,
           greatest(sum(a.n) over () / p_sample::float8, 1) as step
      from ahead a
     where p_sample is not null
  ), named as (
    select u.id, a.xid, a.attempt, a.version, null::timestamptz as due_at, 1::float8 as jobs
      from ahead a
      cross join lateral unnest(a.jobs[a.first:]) u (id)
     where p_sample is null
    union all
    select c.jobs[c.first + floor(x.i * c.step + v_start * c.step - (c.upto - c.n))::int], c.xid, c.attempt, c.version,
           null, c.step
      from counted c
      cross join lateral generate_series(ceil((c.upto - c.n) / c.step - v_start)::int,
                                         ceil(c.upto / c.step - v_start)::int - 1) x (i)
    union all
    select p.job_id, p.xid, p.attempt, p.version, null, 1 from postponed p where p.lane = any (p_lanes)
    union all
    select p.job_id, p.xid, 1, 0, null, 1 from spare p where p.lane = any (p_lanes)
    union all
    (select g.job_id, g.xid, g.attempt, g.version, g.due_at, 1
       from agenda_sampled(p_lanes, case when p_sample is not null then 200 end) g
      order by case when p_sample is not null then random() end limit p_sample)
  )
  select j.queue_id, j.type, j.group_key, case when n.due_at > v_now then 'delayed' else 'waiting' end, n.jobs,
         greatest(job_created_at(j.id), coalesce(
           n.due_at,
           case when n.attempt > 1
                then (select a.retry_at from attempt a
                       where a.slot = j.slot and a.job_id = j.id and a.attempt = n.attempt - 1) end,
           m.run_at, j.run_at))
    from named n
    cross join lateral (select * from job j where j.slot = job_slot(n.id) and j.id = n.id offset 0) j
    left join amendment m on m.slot = j.slot and m.job_id = j.id
   where j.queue_id = any (v_queues)
     and n.version >= coalesce(m.version, 0)
     and m.closed_at is null
     and (n.due_at > v_now or (coalesce(m.start_by, j.start_by) <= v_now) is not true)
     and not exists (select from lane_purge p
                      where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources)
                        and purge_saw(p, n.xid, j.id)
                        and (p.group_key is null or p.group_key = j.group_key))
  union all
  select j.queue_id, j.type, j.group_key, 'running', 1::float8, null from claim c
    cross join lateral unnest(c.jobs) u (id)
    cross join lateral (select * from job j where j.slot = c.slot and j.id = u.id offset 0) j
   where c.lane = any (p_lanes);
end $$;

-- ticket_first: the first job of a ticket that a cursor has not passed, by its place; null when it has passed all of
-- them.
create or replace function ticket_first(c lane_cursor, p_xid bigint, p_ticket bigint) returns int
language sql immutable as $$
  select min(x.n) from (
    select case when (p_xid, p_ticket) > (c.head_xid, c.head_ticket) then 1
                when (p_xid, p_ticket) = (c.head_xid, c.head_ticket) then c.head_offset + 1 end
    union all
    select case when p_ticket > l.ticket then 1 when p_ticket = l.ticket then l.n + 1 end
      from unnest(c.late) l (xid, ticket, n)
     where l.xid = p_xid) x (n)
$$;

-- aside_first: the same of what was set aside.
create or replace function aside_first(p_track bigint, p_xid bigint, p_ticket bigint) returns int
language sql volatile as $$
  select min(ticket_first(aside_cursor(p_track, r.n), p_xid, p_ticket))
    from aside r
   where r.lane = fresh_of(p_track) and xid_seen(p_xid, r.snapshot)
$$;

-- tickets_ahead: the tickets of lanes, and of their groups, that are not passed as a whole. A group that has something
-- waiting is in line, or has left it for a reason that others know: it is paused, at its limit, or has no token.
create or replace function tickets_ahead(p_lanes bigint[]) returns setof ticket
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_tracks bigint[] := array(select l.key + t.n from unnest(p_lanes) l (key) cross join (values (0), (1)) t (n));
begin
  v_tracks := v_tracks || array(
    select t.key + a.n from (
      select fresh_of(unnest(k.jobs)) as key from tracks_ahead(array(select line_of(l) from unnest(p_lanes) l)) k
      union
      select track_of(z.hash, l.key) from lane_known l join pause z on z.queue_id = l.queue_id and z.hash is not null
       where l.key = any (p_lanes)
      union
      select fresh_of(c.track) from claim c where c.lane = any (p_lanes) and c.track is not null
      union
      select fresh_of(s.track) from snooze s where s.lane = any (p_lanes)) t
        cross join (values (0), (1)) a (n)
     where t.key <> all (p_lanes));
  return query select * from tracks_ahead(v_tracks);
end $$;

-- tracks_ahead: the same of tracks.
create or replace function tracks_ahead(p_tracks bigint[]) returns setof ticket
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  return query
  with c as materialized (
    select t.key, c.head_xid, c.head_ticket, c.late from unnest(p_tracks) t (key)
      -- of what was set aside the oldest
      left join lateral (select * from lane_cursor c where c.track = t.key order by c.seq limit 1) c on true
  )
  select k.* from c cross join lateral (
    select k.* from ticket k
     where k.lane = c.key
       and k.xid >= coalesce(c.head_xid, 0)
       and (k.xid, k.id) >= (coalesce(c.head_xid, 0), coalesce(c.head_ticket, 0))
    union
    select k.* from unnest(c.late) late join ticket k on k.lane = c.key and k.xid = late.xid) k;
end $$;

-- tickets_sampled: the tickets, but for those of lines, in some pages by chance. A page holds what was written at about
-- the same time, so that a page is about one independent observation.
create or replace function tickets_sampled(p_pages int) returns setof ticket
language plpgsql as $$
declare
  v_percent constant float4 := pages_percent(
    (select sum(pg_relation_size(x.relid)) from pg_partition_tree('ticket') x where x.isleaf)::bigint, p_pages);
begin
  return query select k.* from ticket k tablesample system (v_percent) where k.lane & 2 = 0;
end $$;

-- agenda_sampled: the agenda of lanes, in some pages by chance, or all of it.
create or replace function agenda_sampled(p_lanes bigint[], p_pages int) returns setof agenda
language plpgsql as $$
declare
  v_percent constant float4 := pages_percent(pg_relation_size('agenda'), p_pages);
begin
  return query select * from agenda g tablesample system (v_percent) where g.lane = any (p_lanes);
end $$;

-- pages_percent: how many of a hundred pages are to be read to read so many (null: all) of a table of that many bytes.
create or replace function pages_percent(p_bytes bigint, p_pages int) returns float4
language sql stable as $$
  select coalesce(least(100, 100.0 * p_pages * current_setting('block_size')::int / greatest(p_bytes, 1)), 100)::float4
$$;

-- groups_oldest: since when the oldest job of each of some groups (null: of none) of lanes could have run. Looks at the
-- first five that each has in a lane, because cancelled and expired ones may stand in front.
create or replace function groups_oldest(p_lanes bigint[], p_groups text[])
  returns table (group_key text, since timestamptz)
language plpgsql as $$
begin
  return query
  select j.group_key, min(greatest(job_created_at(j.id), j.run_at))
    from unnest(case when p_groups <> '{}' then p_lanes end) l (key)
    cross join lateral (select array_agg(group_track(l.key, x.name)) as keys,
                               array_agg(track_cursor(group_track(l.key, x.name))) as cursors, array_agg(5) as each
                          from unnest(p_groups) x (name) where x.name is not null) g
    cross join lateral unnest(
      case when g.keys is not null then (turns_read(l.key, g.keys, g.each, g.cursors)).jobs end
      || case when array_position(p_groups, null) is not null
              then (track_read(track_cursor(l.key), 5)).jobs
                   || (track_read(track_cursor(again_of(l.key)), 5)).jobs
                   || aside_next(l.key, 5) end) n (id)
    -- one by one, and the state of these only: the planner would else ask for that of each job there is
    cross join lateral (select * from job j where j.slot = job_slot(n.id) and j.id = n.id offset 0) j
   where counts_as_ready(job_state(n.id))
   group by 1;
end $$;
