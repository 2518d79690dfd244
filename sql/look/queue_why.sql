-- queue_why: why jobs of a queue, or of a type or a group of it, wait: reasons as [{"code", "jobs", …}], what a person
-- has to end first; docs/queue-states.md lists the codes and their facts. A job may wait for several reasons, and
-- counts in each. Of many types the hundred with most waiting jobs are looked at, of the groups that something holds
-- back about fifty; of paused groups twenty, and the others together. Jobs of groups are counted in 1000 tickets at
-- most (beyond that "isExact" is false). So the cost does not depend on the backlog. Locks and writes nothing. Raises:
-- MR003.
create or replace function queue_why(p_queue text default 'default', p_type text default null,
  p_group text default null) returns jsonb
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_why jsonb;
begin
  with waits as materialized (
    select w.type, w.resources, sum(w.jobs)::bigint as jobs, bool_and(w.is_exact) as is_exact
      from lanes_waiting(v_id, p_type, p_group) w group by w.type, w.resources
  ), total as materialized (
    select coalesce(sum(w.jobs), 0)::bigint as jobs, coalesce(bool_and(w.is_exact), true) as is_exact from waits w
  ), held as materialized (
    select r.rank, r.why, sum(w.jobs)::bigint as jobs, bool_and(w.is_exact) as is_exact
      from waits w cross join lateral lane_reasons(v_id, w.type, w.resources) r group by r.rank, r.why
    union all
    select r.rank, r.why, n.jobs, n.is_exact
      from groups_held(v_id, p_group) g (name)
      cross join lateral group_waiting(v_id, p_type, g.name) n
      cross join lateral group_reasons(v_id, p_type, g.name) r
     where n.jobs > 0
    union all
    select 1, jsonb_build_object('code', 'paused', 'groups', m.groups, 'since', m.since), m.jobs, m.is_exact
      from groups_paused_more(v_id, p_type) m where p_group is null and m.jobs > 0
  ), reason as (
    select * from held
    union all
    select 7, jsonb_build_object('code', 'backlog', 'running', jobs_running(v_id, p_type, p_group)), t.jobs, t.is_exact
      from total t where t.jobs > 0 and not exists (select from held h where h.jobs >= t.jobs)
    union all
    select 8, r.why, r.jobs, true from later_reasons(v_id, p_type) r where p_group is null
  )
  select jsonb_agg(r.why || jsonb_strip_nulls(jsonb_build_object(
           'jobs', r.jobs, 'isExact', case when not r.is_exact then false end))
         order by r.rank, r.why ? 'groups', r.jobs desc, r.why) into v_why
    from (select * from reason r order by r.rank, r.why ? 'groups', r.jobs desc limit 100) r;
  return coalesce(v_why, '[]');
end $$;

-- lanes_waiting: the lanes of a queue in which most jobs wait, a hundred, and how many; of a type or a group where one
-- is given. What is due and was not promoted yet is counted among the next 10,000 of the agenda.
create or replace function lanes_waiting(p_queue_id int, p_type text, p_group text)
  returns table (key bigint, type text, resources jsonb, jobs bigint, is_exact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if p_group is not null then
    return query
    select l.key, l.type, l.resources, n.jobs, n.is_exact
      from lane_known l
      cross join lateral tracks_waiting(
        array[group_track(l.key, p_group), again_of(group_track(l.key, p_group))], null, 1000) n
     where l.queue_id = p_queue_id and (p_type is null or l.type = p_type) and n.jobs > 0
     order by n.jobs desc limit 100;
    return;
  end if;
  return query
  select l.key, l.type, l.resources, d.jobs, true
    from (select x.lane, sum(x.jobs)::bigint as jobs
            from (select d.lane, d.ready as jobs from lane_depth d where d.ready <> 0
                  union all
                  select t.lane, t.ready from tally t
                  union all
                  select g.lane, 1
                    from (select * from agenda a where a.due_at <= clock_now() order by a.due_at limit 10000) g
                   where (g.chain = 1) is not true and not agenda_dropped((g.*)::agenda)) x
           group by x.lane having sum(x.jobs) > 0) d
    join lane_known l on l.key = d.lane
   where l.queue_id = p_queue_id and (p_type is null or l.type = p_type)
   order by d.jobs desc limit 100;
end $$;

-- tracks_waiting: how many jobs wait in tracks; with p_before, of those that were enqueued before that one. Of each
-- track p_tickets tickets are looked at; exact when there are no more.
create or replace function tracks_waiting(p_tracks bigint[], p_before bigint, p_tickets int,
  out jobs bigint, out is_exact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  select coalesce(sum(n.jobs), 0), coalesce(bool_and(n.tickets < p_tickets), true) into jobs, is_exact
    from unnest(p_tracks) t (key)
    left join lateral (select * from lane_cursor c where c.track = t.key order by c.seq desc limit 1) c on true
    cross join lateral (
      select count(*) as tickets,
             coalesce(sum(case when p_before is null then cardinality(k.jobs) - k.first + 1
                               else (select count(*) from unnest(k.jobs[k.first:]) u (id)
                                      where u.id < p_before) end), 0) as jobs
        from (
          select k.jobs, case when c.track is null or (k.xid, k.id) > (c.head_xid, c.head_ticket) then 1
                              else ticket_first(c, k.xid, k.id) end as first
            from ((select * from ticket k
                    where k.lane = t.key and k.xid >= coalesce(c.head_xid, 0)
                      and (k.xid, k.id) >= (coalesce(c.head_xid, 0), coalesce(c.head_ticket, 0))
                    order by k.xid, k.id limit p_tickets)
                  union all
                  (select k.* from unnest(c.late) l join ticket k on k.lane = t.key and k.xid = l.xid
                    where (k.xid, k.id) < (c.head_xid, c.head_ticket) limit p_tickets)) k) k
       where k.first <= cardinality(k.jobs)
      union all
      -- those that came back, or came due, and are taken by their ids
      select 0, count(*) from (select from agenda a
                                where a.track = t.key and a.chain = 1 and (p_before is null or a.job_id < p_before)
                                limit 10000) a) n;
end $$;

-- group_waiting: how many jobs of a group wait in a queue, or of one type.
create or replace function group_waiting(p_queue_id int, p_type text, p_group text,
  out jobs bigint, out is_exact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  select n.jobs, n.is_exact into jobs, is_exact
    from tracks_waiting(array(
           select group_track(l.key, p_group) + a.n from lane_known l cross join (values (0), (1)) a (n)
            where l.queue_id = p_queue_id and (p_type is null or l.type = p_type) limit 2000), null, 1000) n;
end $$;

-- jobs_running: how many jobs of a queue run, or of a type or a group of it.
create or replace function jobs_running(p_queue_id int, p_type text, p_group text) returns bigint
language plpgsql stable as $$
begin
  return (select coalesce(sum(cardinality(c.jobs)), 0) from claim c join lane l on l.key = c.lane
           where l.queue_id = p_queue_id and (p_type is null or l.type = p_type)
             and (p_group is null or c.track = group_track(c.lane, p_group)));
end $$;

-- lane_reasons: what holds all jobs of a queue back that have this type and need these resources: pauses of the queue
-- and the type, queues it waits for, a breaker, limits and rates, and that nobody is there. rank: what a person has to
-- end comes before what ends by itself.
create or replace function lane_reasons(p_queue_id int, p_type text, p_resources jsonb)
  returns table (rank int, why jsonb)
language plpgsql as $$
declare
  q queue;
  v_type jsonb;
  e breaker_event;
begin
  select * into q from queue x where x.id = p_queue_id;
  v_type := (select t.options from job_type t where t.type = p_type);
  return query
  select 1, jsonb_strip_nulls(jsonb_build_object('code', 'paused', 'type', z.type, 'since', z.paused_at,
              'by', z.paused_by, 'because', z.paused_because, 'jobId', z.job_id::text))
    from (select null as type, q.paused_at, q.paused_by, q.paused_because, null::bigint as job_id
           where q.paused_at is not null
          union all
          select z.type, z.paused_at, z.paused_by, z.paused_because, null from pause z
           where z.queue_id = p_queue_id and z.type = p_type and z.group_key is null
          union all
          (select null, z.paused_at, z.paused_by, z.paused_because, z.job_id from pause z
            where z.queue_id = p_queue_id and z.job_id is not null order by z.paused_at limit 1)) z
  union all
  select 2, jsonb_build_object('code', 'queueWaits', 'queues', to_jsonb(queue_waits(p_queue_id)))
   where q.options ? 'waitsFor' and queue_waits(p_queue_id) is not null;
  if q.options ? 'breaker' or v_type ? 'breaker' then
    e := breaker_state(p_queue_id, p_type);
    if e.open_until > clock_now() then
      return query select 3, jsonb_strip_nulls(jsonb_build_object('code', 'breakerOpen', 'type', p_type,
        'since', e.at, 'until', e.open_until, 'error', error_message(e.error)));
    elsif e.open_until is not null then
      return query select 4, jsonb_build_object('code', 'breakerProbe', 'type', p_type, 'since', e.at);
    end if;
  end if;
  return query
  select 4, r.why from limits_reached(p_queue_id, q.options, p_type, v_type, p_resources) r (why)
  union all
  select 6, jsonb_strip_nulls(jsonb_build_object('code', 'noWorker', 'type', p_type, 'held', nullif(n.held, 0)))
    from (select count(*) as held, count(*) filter (where not h.is_held) as free
            from types_handled() h where h.queue = q.name and coalesce(h.type = p_type, true)) n
   where n.free = 0
     and not exists (select from claim c join lane l on l.key = c.lane
                      where l.queue_id = p_queue_id and l.type = p_type)
     and not exists (select from sqs_queue s where s.queue_id = p_queue_id);
end $$;

-- limits_reached: of the limits and rates of a lane, those that let nothing more through just now.
create or replace function limits_reached(p_queue_id int, p_queue jsonb, p_type text, p_type_options jsonb,
  p_resources jsonb) returns setof jsonb
language plpgsql as $$
begin
  return query
  select jsonb_strip_nulls(jsonb_build_object('code', 'limit', 'of', x.of, 'name', x.name,
           'maxRunning', x.most, 'running', u.used, 'needs', nullif(x.units, 1)))
    from jsonb_to_recordset(lane_limits(p_queue_id, p_queue, p_type, p_type_options, p_resources, false))
           as x ("of" text, name text, units int, most int)
    cross join lateral (
      select coalesce(sum(cardinality(c.jobs)
                          * case when x.of = 'resource' then (l.resources ->> x.name)::int else 1 end), 0) as used
        from claim c join lane l on l.key = c.lane
       where case x.of when 'queue' then l.queue_id = p_queue_id when 'type' then l.type = x.name
                       else l.resources ? x.name end) u
   where u.used + x.units > x.most
  union all
  select jsonb_strip_nulls(jsonb_build_object('code', 'rate', 'of', x.of, 'name', x.name,
           'perSecond', x.rate -> 'perSecond',
           'until', clock_now() + seconds(least(1e9, (x.units - b.level) / (x.rate ->> 'perSecond')::float8))))
    from jsonb_to_recordset(lane_limits(p_queue_id, p_queue, p_type, p_type_options, p_resources, false))
           as x ("of" text, name text, lock bigint, units int, rate jsonb)
    cross join lateral (select bucket_level(x.lock, x.rate) as level) b
   where x.rate is not null and b.level < x.units;
end $$;

-- groups_paused_more: how many more groups of a queue are paused than groups_held names, since when the first of them
-- is, and how much waits in them: in a hundred tickets of each of their tracks, of which there are 20,000 at most.
create or replace function groups_paused_more(p_queue_id int, p_type text,
  out groups bigint, out since timestamptz, out jobs bigint, out is_exact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_groups constant text[] := array(
    select z.group_key from pause z
     where z.queue_id = p_queue_id and z.group_key is not null and coalesce(z.type = p_type, true)
       and z.group_key not in (select g from groups_named(p_queue_id) g)
     group by 1);
  v_tracks constant bigint[] := array(
    select distinct track_of(z.hash, l.key) + a.n from pause z
      join lane_known l on l.queue_id = z.queue_id and (z.type is null or z.type = l.type)
      cross join (values (0), (1)) a (n)
     where z.queue_id = p_queue_id and z.group_key = any (v_groups)
       and (p_type is null or l.type = p_type) limit 20001);
begin
  groups := cardinality(v_groups);
  select min(z.paused_at) into since from pause z where z.queue_id = p_queue_id and z.group_key = any (v_groups);
  select n.jobs, n.is_exact and cardinality(v_tracks) <= 20000 into jobs, is_exact
    from tracks_waiting(v_tracks[:20000], null, 100) n;
end $$;

-- groups_named: the paused groups of a queue that are told one by one: twenty.
create or replace function groups_named(p_queue_id int) returns setof text
language sql stable as $$
  select z.group_key from pause z where z.queue_id = p_queue_id and z.group_key is not null
   group by 1 order by min(z.paused_at), 1 limit 20
$$;

-- groups_held: names of groups of a queue that something of their own may hold back: they are paused, have jobs that
-- run, wait for a token or for their order. Some of each kind; the given one alone, where one is.
create or replace function groups_held(p_queue_id int, p_group text) returns setof text
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_lanes constant bigint[] := array(select l.key from lane l where l.queue_id = p_queue_id and l.grouped limit 1000);
  v_options constant jsonb := (select q.options from queue q where q.id = p_queue_id);
begin
  if p_group is not null then
    return next p_group;
    return;
  end if;
  return query
  select groups_named(p_queue_id)
  union
  (select j.group_key
     from (select c.jobs[1] as id from claim c
            where c.lane = any (v_lanes) and c.track is not null
              and (v_options ? 'groupMaxRunning' or chained(v_options, true)
                   or exists (select from group_setting s
                               where s.queue_id = p_queue_id and s.hash = hash_of(c.track, c.lane)
                                 and s.max_running is not null))
            order by cardinality(c.jobs) desc limit 20) c
     join job j on j.slot = job_slot(c.id) and j.id = c.id)
  union
  (select j.group_key
     from (select * from snooze s where s.lane = any (v_lanes) order by s.due_at limit 20) s
     cross join lateral (select k.jobs[1] as id from ticket k where k.lane = s.track order by k.xid desc limit 1) k
     join job j on j.slot = job_slot(k.id) and j.id = k.id)
  union
  (select j.group_key
     from (select a.job_id from agenda a
            where chained(v_options, true) and a.chain = 0 and a.lane = any (v_lanes) and a.due_at < 'infinity'
            order by a.track, a.job_id limit 20) a
     join job j on j.slot = job_slot(a.job_id) and j.id = a.job_id
    where j.group_key is not null);
end $$;

-- group_reasons: what holds a group of a queue back, in all of its types or in one: that it is paused, as many of it
-- run as may, it has no token, or the one that goes first in its order runs, waits for its next attempt or is held.
create or replace function group_reasons(p_queue_id int, p_type text, p_group text)
  returns table (rank int, why jsonb)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_options constant jsonb := (select q.options from queue q where q.id = p_queue_id);
  v_ordered constant boolean := chained(v_options, true);
  v_batches constant boolean := v_options ->> 'ordered' = 'batches';
  v_running constant bigint := jobs_running(p_queue_id, null, p_group);
  s group_setting;
  v_most int;
  v_rate jsonb;
begin
  select * into s from group_setting x
   where x.queue_id = p_queue_id and x.hash = hash_of(group_track(0, p_group), 0);
  v_most := coalesce(s.max_running, (v_options ->> 'groupMaxRunning')::int);
  v_rate := coalesce(s.rate, v_options -> 'groupRate');
  return query
  select 1, jsonb_strip_nulls(jsonb_build_object('code', 'paused', 'type', z.type, 'group', z.group_key,
              'since', z.paused_at, 'by', z.paused_by, 'because', z.paused_because))
    from pause z
   where z.queue_id = p_queue_id and z.group_key = p_group and (p_type is null or z.type is null or z.type = p_type)
  union all
  select 5, jsonb_build_object('code', 'limit', 'of', 'group', 'group', p_group, 'maxRunning', v_most,
              'running', v_running)
   where v_running >= v_most and (not v_ordered or v_batches)
  union all
  select 5, jsonb_build_object('code', 'rate', 'of', 'group', 'group', p_group, 'perSecond', v_rate -> 'perSecond',
              'until', clock_now() + seconds(least(1e9, (1 - b.level) / (v_rate ->> 'perSecond')::float8)))
    from (select bucket_level(group_bucket(p_queue_id, hash_of(group_track(0, p_group), 0)), v_rate) as level) b
   where v_rate is not null and b.level < 1;
  if v_ordered then
    return query select 5, o.why from order_reason(p_queue_id, p_group) o (why) where o.why is not null;
  end if;
end $$;

-- order_reason: of a group in order, or of the jobs without a group of a queue that runs one at a time (p_group null),
-- the one that goes before all others and cannot go just now; null when there is none.
create or replace function order_reason(p_queue_id int, p_group text) returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_tracks constant bigint[] := array(select group_track(l.key, p_group) from lane l where l.queue_id = p_queue_id);
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object('code', 'ordered', 'group', p_group, 'jobId', x.id::text,
             'state', x.state, 'until', x.until))
      from (select min(u.id) as id, 'running' as state, null::timestamptz as until
              from claim c join lane l on l.key = c.lane cross join lateral unnest(c.jobs) u (id)
             where l.queue_id = p_queue_id and p_group is not null and c.track = group_track(c.lane, p_group)
             having min(u.id) is not null
            union all
            (select a.job_id, 'delayed', nullif(a.due_at, 'infinity') from agenda a
              where a.track = any (v_tracks) and a.chain is not null and a.due_at > clock_now()
                and (a.attempt > 1 or p_group is not null) and not agenda_dropped(a)
              order by a.job_id limit 1)
            union all
            (select p.job_id, 'held', null from postponed p where p.track = any (v_tracks)
              order by p.job_id limit 1)) x
     order by x.id limit 1);
end $$;

-- later_reasons: what of a queue, or of a type of it, does not wait yet for somebody to take it: its time, its stage,
-- or what suspended jobs wait for. The first time is looked for among the next 10,000 of all queues.
create or replace function later_reasons(p_queue_id int, p_type text) returns table (why jsonb, jobs bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_lanes constant bigint[] := array(
    select l.key from lane_known l where l.queue_id = p_queue_id and (p_type is null or l.type = p_type));
  v_suspended constant bigint := (
    select greatest(coalesce(sum(t.n), 0), 0) from suspended_tally t where t.lane = any (v_lanes));
  v_delayed bigint;
  v_staged bigint;
begin
  select coalesce(sum(d.delayed), 0), coalesce(sum(d.staged), 0) into v_delayed, v_staged
    from (select x.lane, x.delayed, x.staged from lane_depth x
          union all
          select y.lane, y.delayed, y.staged from tally y) d
   where d.lane = any (v_lanes);
  v_delayed := v_delayed - v_staged - v_suspended - (
    select count(*) from (select * from agenda a where a.due_at <= clock_now() order by a.due_at limit 10000) g
     where (g.chain = 1) is not true and g.lane = any (v_lanes));
  return query
  select jsonb_strip_nulls(jsonb_build_object('code', 'time', 'until', (
           select min(g.due_at) from (select * from agenda a where a.due_at > clock_now()
                                        and a.due_at < 'infinity' order by a.due_at limit 10000) g
            where g.lane = any (v_lanes) and g.waits is null))), v_delayed
   where v_delayed > 0
  union all
  select jsonb_build_object('code', 'stage', 'stage', s.stage), s.jobs
    from (select g.stage, count(*) as jobs
            from (select g.stage from agenda g where v_staged > 0 and g.stage is not null and g.lane = any (v_lanes)
                   limit 10000) g
           group by g.stage order by 2 desc limit 20) s
  union all
  select jsonb_build_object('code', 'suspended'), v_suspended where v_suspended > 0;
end $$;
