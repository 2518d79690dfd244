-- The rest of the read surface we promise; see sql/README.md. Tables behind it are private.

create or replace view attempts as
select a.job_id, a.attempt, a.outcome::text as outcome, a.state::text as final_state, a.reason::text as reason,
       a.worker, a.started_at, a.finished_at, a.error, a.result,
       coalesce(a.log, a.error -> 'log') as log
  from job_attempt a;

create or replace view claims as
select c.token, q.name as queue, l.type, l.priority, c.worker, c.started_at, clock_now() - c.started_at as elapsed,
       c.until as lease_ends_at,
       u.id as job_id, coalesce(u.attempt, 1) as attempt, coalesce(u.id <> all (c.unstarted), true) as started,
       p.value as progress
  from claim c join lane l on l.key = c.lane join queue q on q.id = l.queue_id
  cross join lateral unnest(c.jobs, c.attempts) u (id, attempt)
  left join progress p on p.slot = c.slot and p.job_id = u.id;

-- lane_known: lanes that claimers have found, and those that producers have only announced. Private.
create or replace view lane_known as
select key, queue_id, type, priority, resources, created_at from lane
union all
select distinct s.lane, s.queue_id, s.type, s.priority, s.resources, null::timestamptz
  from scout s
 where not exists (select from lane l where l.key = s.lane);

-- group_blocked: how many jobs of each queue wait in paused groups, of types that are not held back as a whole; of each
-- group in a lane up to 10,000 tickets are counted. Private. It calls no function that readers were not granted before.
create or replace view group_blocked as
select t.queue_id, sum(n.jobs)::bigint as jobs
  from (select distinct l.queue_id, (l.key # z.hash) + a.n as track
          from lane_known l
          join pause z on z.queue_id = l.queue_id and z.hash is not null and (z.type is null or z.type = l.type)
          cross join (values (0), (1)) a (n)
         where not exists (select from type_blocked b
                            where b.queue_id = l.queue_id and b.type = l.type and b.until > clock_now())) t
  left join lateral (select * from lane_cursor c where c.track = t.track order by c.seq desc limit 1) c on true
  cross join lateral (
    select coalesce(sum(cardinality(k.jobs)
                        - case when k.xid = c.head_xid and k.id = c.head_ticket then c.head_offset else 0 end), 0)
           as jobs
      from (select * from ticket k
             where k.lane = t.track and k.xid >= coalesce(c.head_xid, 0)
               and (k.xid, k.id) >= (coalesce(c.head_xid, 0), coalesce(c.head_ticket, 0))
             order by k.xid, k.id limit 10000) k
    union all
    select count(*) from (select from agenda a where a.track = t.track and a.chain = 1 limit 10000) a) n
 group by t.queue_id;

-- queues: waiting is what could start as far as its time goes, ready and blocked together. Blocked is what a pause, a
-- queue that it waits for, or an open breaker holds; the rest is ready.
create or replace view queues as
select q.name,
       case when m.cell is not null then 'moved'
            when q.finished_at is not null then 'finished'
            when p.paused_at is not null then 'paused'
            when w.waits_for is not null then 'waiting'
            when q.closed_at is not null then 'closed' else 'active' end as state,
       q.options, p.paused_at, p.paused_by, p.paused_because, q.created_at,
       coalesce(d.ready, 0) as waiting, coalesce(d.delayed, 0) as delayed, coalesce(r.running, 0) as running,
       coalesce(d.staged, 0) as staged,
       w.waits_for, q.closed_at, q.closed_by, q.closed_because, q.finished_at,
       greatest(coalesce(d.suspended, 0), 0) as suspended, m.cell as moved_to,
       greatest(coalesce(d.ready, 0), 0) - b.blocked as ready, b.blocked
  from queue q
  left join queue_move m on m.queue_id = q.id and m.is_leaving
  left join lateral (select z.paused_at, z.paused_by, z.paused_because
                       from (select q.paused_at, q.paused_by, q.paused_because where q.paused_at is not null
                             union all
                             select z.paused_at, z.paused_by, z.paused_because from pause z
                              where z.queue_id = q.id and z.job_id is not null) z
                      order by z.paused_at limit 1) p on true
  left join lateral (select queue_waits(q.id) as waits_for where q.options ? 'waitsFor') w on true
  left join (select l.queue_id, sum(x.ready) as ready, sum(x.delayed) as delayed, sum(x.staged) as staged,
                    sum(x.suspended) as suspended, sum(x.ready) filter (where h.type is not null) as blocked
               from lane_known l
               join (select lane, ready, delayed, staged, 0 as suspended from lane_depth
                     union all
                     select lane, ready, delayed, staged, 0 from tally
                     union all
                     select lane, 0, 0, 0, n from suspended_tally) x on x.lane = l.key
               left join (select distinct b.queue_id, b.type from type_blocked b where b.until > clock_now()) h
                 on h.queue_id = l.queue_id and h.type = l.type
              group by l.queue_id) d on d.queue_id = q.id
  left join (select l.queue_id, sum(cardinality(c.jobs)) as running
               from claim c
               join lane l on l.key = c.lane
              group by l.queue_id) r on r.queue_id = q.id
  left join group_blocked g on g.queue_id = q.id
  cross join lateral (
    select greatest(0, least(coalesce(d.ready, 0), case
             when p.paused_at is not null or w.waits_for is not null then d.ready
             else coalesce(d.blocked, 0) + coalesce(g.jobs, 0) end)) as blocked) b;

create or replace view pauses as
select q.name as queue, z.type, z.group_key as "group", z.paused_at, z.paused_by, z.paused_because, z.job_id
  from pause z
  join queue q on q.id = z.queue_id
union all
select q.name, null, null, q.paused_at, q.paused_by, q.paused_because, null from queue q where q.paused_at is not null;

create or replace view stages as
select q.name as queue, g.stage, count(*) as jobs, min(g.created_at) as since
  from agenda g join lane_known l on l.key = g.lane join queue q on q.id = l.queue_id
 where g.stage is not null
   and not exists (select from lane_purge p
                    where p.lane = g.lane
                      and purge_saw(p, g.xid, g.job_id)
                      and (p.group_key is null
                           or p.group_key = (select j.group_key from job j
                                              where j.slot = job_slot(g.job_id) and j.id = g.job_id)))
 group by 1, 2;

-- breakers: what circuit breakers have counted since the last success, and whether they hold their type back. Those
-- that never counted anything are not listed.
create or replace view breakers as
select q.name as queue, n.type,
       case when s.open_until is null then 'closed' when s.open_until > t.now then 'open' else 'half-open' end as state,
       case when s.open_until is null
            then (select coalesce(sum(f.jobs), 0) from breaker_event f
                   where f.queue_id = n.queue_id and f.type = n.type and f.kind = 'failed' and f.id > coalesce(s.id, 0)
                     and f.at > t.now - make_interval(secs => coalesce((o.breaker ->> 'withinSeconds')::float8, 60)))
            end::int as failures,
       coalesce((o.breaker ->> 'failures')::int, 5) as opens_at, s.open_until, s.pause_seconds,
       case when s.open_until is not null then s.at end as opened_at, l.at as failed_at, l.error as last_error
  from (select distinct queue_id, type from breaker_event) n
  cross join (select clock_now() as now) t
  join queue q on q.id = n.queue_id
  left join job_type y on y.type = n.type
  cross join lateral (select coalesce(y.options -> 'breaker', q.options -> 'breaker') as breaker) o
  left join lateral (select b.* from breaker_event b
                      where b.queue_id = n.queue_id and b.type = n.type and b.kind <> 'failed'
                      order by b.id desc limit 1) s on true
  left join lateral (select b.at, b.error from breaker_event b
                      where b.queue_id = n.queue_id and b.type = n.type and b.kind <> 'closed'
                      order by b.id desc limit 1) l on true
 where o.breaker is not null;

create or replace view groups as
select q.name as queue, s.group_key as "group", s.weight, s.max_running, s.rate
  from group_setting s
  join queue q on q.id = s.queue_id;

-- limits: all that was set, of queues, of each group of a queue, of single groups, of types and of resources, and how
-- much of it is in use.
create or replace view limits as
with running as (
  select l.queue_id, l.type, l.resources, sum(cardinality(c.jobs))::int as jobs
    from claim c
    join lane l on l.key = c.lane
   group by 1, 2, 3
), x (kind, queue, name, options, in_use) as (
  select 'queue', q.name, null, q.options, (select coalesce(sum(r.jobs), 0) from running r where r.queue_id = q.id)
    from queue q
  union all
  select 'each group', q.name, null,
         jsonb_build_object('maxRunning', q.options -> 'groupMaxRunning', 'rate', q.options -> 'groupRate'), null
    from queue q
  union all
  select 'group', q.name, s.group_key, jsonb_build_object('maxRunning', s.max_running, 'rate', s.rate), null
    from group_setting s
    join queue q on q.id = s.queue_id
  union all
  select 'type', null, t.type, t.options, (select coalesce(sum(r.jobs), 0) from running r where r.type = t.type)
    from job_type t
  union all
  select 'resource', null, s.name, s.options,
         (select coalesce(sum(r.jobs * (r.resources ->> s.name)::int), 0) from running r where r.resources ? s.name)
    from resource s
)
select kind, queue, name, (options ->> 'maxRunning')::int as max_running, nullif(options -> 'rate', 'null') as rate,
       in_use::int
  from x where options ->> 'maxRunning' is not null or options ->> 'rate' is not null;

create or replace view lanes as
select q.name as queue, l.type, l.priority, l.resources, coalesce(x.ready, 0) as waiting,
       coalesce(x.delayed, 0) as delayed, l.created_at
  from lane_known l join queue q on q.id = l.queue_id
  left join (select lane, sum(ready) as ready, sum(delayed) as delayed
               from (select lane, ready, delayed from lane_depth union all select lane, ready, delayed from tally) t
              group by lane) x on x.lane = l.key;

create or replace view types as
select l.type, t.options, sum(l.waiting) as waiting, sum(l.delayed) as delayed
  from lanes l
  left join job_type t on t.type = l.type
 group by l.type, t.options;

create or replace view decisions as select id, job_id, decided_at, action, attempts, decided_by, because from decision;

create or replace view audits as
select id, at, who, action, object, result, count, address, request_id, because, before, after from audit;

create or replace view schedule_runs as
select schedule, slot_at, job_id, kind, outcome, attempts, started_at, finished_at, seconds, error from schedule_run;

create or replace view calendars as select name, days from day_calendar;

create or replace view schedule_events as
select id, at, schedule, event, slot_at, slots, by, because from schedule_event;

-- schedules: what was declared, and all that is known of the runs. What open runs (the latest 100) have tried is
-- counted before their end is noted. next_slot: when it is supposed to run; next_attempt_at: when something of it will
-- be tried, which may be a retry. Blocked: a run of it waits behind a pause, an open breaker or another queue.
create or replace view schedules as
select s.name, s.rule, s.job, s.input, s.options, s.revision, s.version, s.app, s.declared_by, s.declared_at,
       s.created_at, s.changed_at, s.paused_at, s.paused_by, s.paused_because, s.finished_at, s.finished_because,
       case when s.finished_because in ('failed runs', 'cancelled') then 'stopped'
            when s.finished_at is not null then 'finished'
            when s.paused_at is not null then 'paused'
            when x.failed_attempts > 0 or t.failed_runs > 0 or t.next_try_at is not null then 'failing'
            when o.is_blocked then 'blocked'
            else 'healthy' end as health,
       coalesce(o.error, t.error) ->> 'message' as message, coalesce(o.error, t.error) as error,
       case when isfinite(t.next_slot) and not t.is_paused then t.next_slot end as next_slot,
       coalesce(o.retry_at,
         case when isfinite(t.next_slot) and not t.is_paused
                then greatest(t.next_slot, t.next_try_at) end) as next_attempt_at,
       t.last_slot, greatest(t.last_attempt_at, o.last_started_at) as last_attempt_at,
       greatest(t.last_success_at, o.last_success_at) as last_success_at,
       x.failed_attempts, t.failed_runs, t.runs, t.succeeded, t.attempts + coalesce(o.attempts, 0) as attempts,
       t.seconds + coalesce(o.seconds, 0) as total_seconds,
       coalesce(o.last_seconds, t.last_seconds) as last_seconds,
       (t.seconds + coalesce(o.seconds, 0)) / nullif(t.attempts + coalesce(o.attempts, 0), 0) as average_seconds,
       t.missed, o.jobs as open_jobs, (select count(*) from schedule_pending p where p.schedule = s.name) as pending
  from schedule s
  join schedule_state t on t.schedule = s.name
  left join lateral (
    select array_agg(r.job_id) as jobs, sum(a.attempts) as attempts,
           sum(a.failed) filter (where r.is_regular) as failed, max(a.last_success_at) as last_success_at,
           sum(a.seconds) as seconds,
           greatest(max(a.last_started_at),
             (select max(c.started_at) from claim c where c.jobs && array_agg(r.job_id))) as last_started_at,
           (array_agg(a.last_seconds order by a.last_started_at desc nulls last))[1] as last_seconds,
           (array_agg(a.error order by a.last_started_at desc) filter (where a.error is not null))[1] as error,
           (select min(g.due_at) from agenda g
             where g.job_id = any (array_agg(r.job_id)) and g.attempt > 1) as retry_at,
           bool_or(b.is_blocked) as is_blocked
      from (select u.job_id, u.kind in ('slot', 'late') as is_regular
              from schedule_run u
             where u.schedule = s.name and u.outcome is null
             order by u.job_id desc limit 100) r
      cross join lateral (
        select count(*) as attempts, count(*) filter (where t.outcome <> 'succeeded') as failed,
               max(t.started_at) as last_started_at,
               max(t.finished_at) filter (where t.outcome = 'succeeded') as last_success_at,
               sum(date_part('epoch', t.finished_at - t.started_at)) as seconds,
               (array_agg(date_part('epoch', t.finished_at - t.started_at) order by t.attempt desc))[1]
                 as last_seconds,
               (array_agg(t.error order by t.attempt desc))[1] as error, bool_or(t.state is not null) as has_ended
          from job_attempt t where t.slot = job_slot(r.job_id) and t.job_id = r.job_id) a
      cross join lateral (  -- as the view "jobs" derives it
        select coalesce(
                 (select q.paused_at is not null
                         or (q.options ? 'waitsFor' and queue_waits(q.id) is not null)
                         or exists (select from pause z
                                     where z.queue_id = j.queue_id and coalesce(z.type = j.type, true)
                                       and (z.group_key is null or z.group_key is not distinct from j.group_key))
                         or exists (select from type_blocked b where b.queue_id = j.queue_id and b.type = j.type
                                       and b.until > clock_now())
                    from job j join queue q on q.id = j.queue_id
                   where j.slot = job_slot(r.job_id) and j.id = r.job_id)
                 and a.has_ended is not true
                 and not exists (select from claim c where r.job_id = any (c.jobs))
                 and not exists (select from agenda g where g.job_id = r.job_id and g.due_at > clock_now()),
                 false) as is_blocked) b) o on true
  cross join lateral (select case when o.last_success_at is not null then 0
                                  else t.failed_attempts + coalesce(o.failed, 0) end as failed_attempts) x;

create or replace view migrations as select number, name, applied_at from migration where number > 0;

create or replace view workers as
select p.id, p.facts ->> 'host' as host, (p.facts ->> 'pid')::int as pid, p.facts ->> 'release' as release,
       p.facts -> 'workers' as workers,
       case when p.expected_at <= clock_now() then 'lost' when p.stalled_seconds >= 10 then 'stalled'
            when p.running > 0 then 'busy' else 'idle' end as state,
       p.running, p.memory_bytes, p.stalled_seconds, p.started_at, p.seen_at, p.expected_at,
       (select json_agg(json_build_object('process', nullif(o.process, ''), 'worker', nullif(o.worker, ''),
                 'hold', o.hold, 'concurrency', o.concurrency, 'at', o.at, 'by', o.by, 'because', o.because)
                 order by o.process = '', o.worker = '', o.worker)
          from worker_order o where o.process in (p.id, '')
           and (o.worker = '' or p.facts -> 'workers' @> jsonb_build_array(jsonb_build_object('name', o.worker))))
         as orders
  from worker_process p;

create or replace view definitions as
select type, version, queue, defaults, input_schema, declared_by, declared_at from job_definition;

create or replace view alert_rules as
select r.name, r.kind, r.options - '{silences,remindSeconds}'::text[] as options, r.for_seconds, r.hooks, r.is_on,
       r.put_by, r.put_at,
       case when r.silenced_until > clock_now() then r.silenced_until end as silenced_until,
       case when r.silenced_until > clock_now() then r.silenced_by end as silenced_by,
       case when r.silenced_until > clock_now() then r.silenced_because end as silenced_because,
       coalesce((r.options ->> 'remindSeconds')::float8, 86400) as remind_seconds,
       (select json_agg(json_build_object('subject', s.key, 'until', s.value -> 'until', 'by', s.value -> 'by',
                 'because', s.value -> 'because') order by s.key)
          from jsonb_each(r.options -> 'silences') s where (s.value ->> 'until')::timestamptz > clock_now()) as silences
  from alert_rule r;

create or replace view alerts as
select a.rule, r.kind, a.subject, case when a.fired_at is null then 'pending' else 'firing' end as state, a.since,
       a.fired_at, a.value, a.message,
       coalesce(silenced_until(r.silenced_until, r.options, a.subject) > clock_now(), false) as silenced
  from alert a
  join alert_rule r on r.name = a.rule
 where a.fired_at is not null or not a.is_told; -- else it has ended, which is told when its silence ends

create or replace view alert_events as
select id, at, event, rule, subject, value, message, by from alert_event;

-- hooks: of the address only where it leads is shown, because the rest may be a secret. senders: workers that are known
-- and take what is to be sent.
create or replace view hooks as
select h.name, substring(h.url from '^https?://[^/?#]+') as origin, h.put_by, h.put_at,
       array(select r.name from alert_rule r where h.name = any (r.hooks) order by r.name) as rules,
       (select count(*)::int
          from worker_process p cross join lateral jsonb_array_elements(p.facts -> 'workers') w
         where p.expected_at > clock_now() and w ->> 'held' is null and w -> 'queues' ? 'millrace.alerts'
           and (jsonb_typeof(w -> 'types') is distinct from 'array' or w -> 'types' ? 'millrace.alert')) as senders
  from hook h;
