-- live_sample: what a dashboard shows of all queues at one moment, and what was enqueued and ended since p_from, which
-- is the end ("to") of the time that an earlier answer was about. That time ends a second ago, so that what commits
-- within a second is counted, and is ten seconds long at most. For one process that asks again and again.
-- The cost depends on the number of queues and lanes and on the work in flight, not on the backlog or the history.
-- Counts are the folded ones. The age of the oldest is looked up in the 100 fullest lanes, only with p_ages. At most
-- 20,000 new jobs are counted; more are estimated from those. What ended is read from the ends of the logs (log_ends),
-- from p_ends on, which is an earlier answer's "ends". failedLastHour, up to "to", is told only with p_failures, with
-- whether it is exact. p_ages and p_failures cost most. workers: of processes whose heartbeat is not late; holders: who
-- holds jobs, by the names of their claims; alerts: those that fire and are not silenced.
-- Changes nothing. Raises: nothing.
create or replace function live_sample(p_from timestamptz default null, p_ends int[] default null,
  p_ages boolean default true, p_failures boolean default true) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_to constant timestamptz := v_now - interval '1 second';
  v_from constant timestamptz := greatest(p_from, v_to - interval '10 seconds');
  v_ends constant int[] := log_ends();
  v_letters constant text[] := letter_queues();
  v_made json;
  v_ended json;
begin
  if p_from < v_to then
    v_made := live_made(v_from, v_to);
    v_ended := live_ended(v_from, v_to, coalesce(p_ends, v_ends), v_ends);
  end if;
  return json_build_object('now', v_now, 'from', case when p_from < v_to then v_from end, 'to', v_to, 'ends', v_ends,
    'made', v_made, 'ended', v_ended,
    'failedLastHour', case when p_failures then live_failures(v_to - interval '1 hour', v_to) end,
    'workers', (select coalesce(sum(jsonb_array_length(p.facts -> 'workers')), 0)
                  from worker_process p where p.expected_at > v_now),
    'holders', (select count(distinct coalesce(c.worker, '')) from claim c),
    'alerts', (select count(*) from alerts a where a.state = 'firing' and not a.silenced),
    'queues', (
      select json_agg(json_build_object(
               'queue', q.name, 'state', q.state, 'waiting', q.waiting, 'blocked', q.blocked, 'delayed', q.delayed,
               'suspended', q.suspended, 'running', q.running, 'deadLetters', q.name = any (v_letters),
               'oldestReadyAt', o.since) order by q.name)
        from queues q
        left join (select * from live_oldest() where p_ages) o on o.queue = q.name));
end $$;

-- letter_queues: queues where jobs go when they fail for good: of another queue or type, of all, or of SQS.
create or replace function letter_queues() returns text[]
language sql stable as $$
  select array(
    select x.options ->> 'deadLetterQueue'
      from (select options from queue union all select options from job_type union all select options from cell) x
     where x.options ? 'deadLetterQueue'
    union
    select s.attributes ->> 'deadLetterTarget' from sqs_queue s where s.deleted_at is null)
$$;

-- live_failures: how often jobs failed for good between two times, whatever was decided on them since. Reads the newest
-- 50,000 jobs, by the time they were enqueued, of which an attempt ended otherwise than well; isExact: those were all.
create or replace function live_failures(p_from timestamptz, p_to timestamptz) returns json
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
declare
  c_most constant int := 50000;
begin
  return (select json_build_object('isExact', count(*) < c_most, 'count',
                   count(*) filter (where a.state = 'failed' and a.finished_at > p_from and a.finished_at <= p_to))
            from (select a.state, a.finished_at from attempt a
                   where a.state <> 'succeeded' order by a.job_id desc limit c_most) a);
end $$;

-- live_oldest: since when the oldest ready job of each queue waits, in the 100 lanes that have most of those that
-- nothing holds back as a whole.
create or replace function live_oldest() returns table (queue text, since timestamptz)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  return query
  with oldest as materialized (
    select lane_oldest(lane, 10) as id from lanes_open(100) lane
  )
  select q.name, min(greatest(job_created_at(j.id), j.run_at))
    from oldest o join job j on j.slot = job_slot(o.id) and j.id = o.id join queue q on q.id = j.queue_id
   group by q.name;
end $$;

-- live_made: how many jobs each queue got between two times, less than a day apart: { queue: jobs }. Their ids tell;
-- beyond 20,000 it is an estimate from the first of them.
create or replace function live_made(p_from timestamptz, p_to timestamptz) returns json
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  c_most constant int := 20000;
  v_from constant bigint := job_id_at(p_from);
  v_to constant bigint := job_id_at(p_to);
  v_made json;
begin
  with made as materialized (
    select j.queue_id, j.id from job j
     where j.slot in (job_slot(v_from), job_slot(v_to)) and j.id >= v_from and j.id < v_to
     order by j.id limit c_most
  ), part as (
    select case when count(*) < c_most then 1
                else greatest(1, (v_to - v_from)::float8 / greatest(1, max(id) - v_from)) end as factor
      from made
  )
  select coalesce(json_object_agg(q.name, round(n.jobs * part.factor)), '{}') into v_made
    from (select queue_id, count(*) as jobs from made group by queue_id) n
    join queue q on q.id = n.queue_id
    cross join part;
  return v_made;
end $$;

-- log_ends: how many pages each child of the logs "attempt" (the first 32) and "streak" has. Nothing is ever put into
-- the middle of them.
create or replace function log_ends() returns int[]
language plpgsql as $$
begin
  return (
    select array_agg((pg_relation_size(i.inhrelid) / current_setting('block_size')::int)::int
           order by i.inhparent = 'streak'::regclass, c.relname)
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('attempt'::regclass, 'streak'::regclass));
end $$;

-- live_ended: what ended between two times, by queue: { queue: { ended, failed, failedJobs, isSample, p50, p95 } }, and
-- of all queues as "". ended: jobs, by the report of an attempt; failed: attempts that failed; failedJobs: jobs that
-- were seen to fail for good; isSample: not all attempts were looked at; p50 and p95: how long jobs had waited for
-- their first attempt.
-- It reads the pages that the logs have got since p_ends, and some before, because pages at the end are filled in no
-- order. Of more than 1000 pages the last 1000 stand for all; of more than 2000 rows every n-th is looked up.
create or replace function live_ended(p_from timestamptz, p_to timestamptz, p_ends int[], p_now_ends int[]) returns json
language plpgsql as $$
declare
  v_today constant int := job_slot(job_id_at(p_to));
  v_ended json;
begin
  with tail as (
    select e.i, e.now_end,
           greatest(
             e.now_end - 1000,
             least(e.then_end, e.now_end)
               - case when (v_today - (e.i - 1) % 32 + 32) % 32 in (0, 1, 31) then 64 else 8 end,
             0) as first,
           case when e.now_end - e.then_end > 1000 then (e.now_end - e.then_end) / 1000.0 else 1 end as factor
      from unnest(p_ends, p_now_ends) with ordinality e (then_end, now_end, i) where e.now_end > 0
  ), run as materialized (
    select r.queue_id, r.jobs * t.factor as jobs, r.final, r.failed, r.for_good, r.part > 1 or t.factor > 1 as is_part,
           r.waited
      from tail t cross join lateral live_ended_rows(((t.i - 1) % 32)::smallint, t.i > 32, t.first, p_from, p_to) r
  )
  select json_object_agg(x.name, json_build_object(
           'ended', round(x.ended), 'failed', round(x.failed), 'failedJobs', x.failed_jobs,
           'isSample', x.is_sample, 'p50', x.waits[1], 'p95', x.waits[2]))
    into v_ended
    from (select coalesce(q.name, '') as name, coalesce(sum(r.jobs) filter (where r.final), 0) as ended,
                 coalesce(sum(r.jobs) filter (where r.failed), 0) as failed,
                 count(*) filter (where r.for_good) as failed_jobs, bool_or(r.is_part) as is_sample,
                 percentile_disc(array[0.5, 0.95]) within group (order by r.waited) as waits
            from run r join queue q on q.id = r.queue_id group by grouping sets ((q.name), ())) x;
  return coalesce(v_ended, '{}');
end $$;

-- live_ended_rows: what ended between two times according to one child of a log, from a page on; jobs: how many a row
-- stands for; part: of so many attempts one was looked up. Planned anew each time: with the child known, 31 others need
-- not be looked at.
create or replace function live_ended_rows(p_slot smallint, p_streak boolean, p_page int, p_from timestamptz,
  p_to timestamptz) returns table (queue_id int, jobs float8, final boolean, failed boolean, for_good boolean,
  part int, waited float8)
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  c_most constant int := 2000;
  v_first constant tid := format('(%s,0)', p_page)::tid;
  v_every int;
begin
  if p_streak then
    return query
    select j.queue_id, s.length::float8, true, false, false, 1,
           greatest(0, date_part('epoch', s.started_at - greatest(job_created_at(j.id), j.run_at)))
      from streak s join job j on j.slot = s.slot and j.id = job_at(s.first_place)
     where s.slot = p_slot and s.ctid >= v_first and s.finished_at > p_from and s.finished_at <= p_to;
  else
    select greatest(1, count(*) / c_most) into v_every
      from attempt a
     where a.slot = p_slot and a.ctid >= v_first and a.finished_at > p_from and a.finished_at <= p_to;
    return query
    select j.queue_id, v_every::float8, a.state is not null, a.outcome in ('failed', 'lost'),
           coalesce(a.state = 'failed', false), v_every,
           case when a.attempt = 1
                  then greatest(0, date_part('epoch', a.started_at - greatest(job_created_at(j.id), j.run_at))) end
      from attempt a join job j on j.slot = a.slot and j.id = a.job_id
     where a.slot = p_slot and a.ctid >= v_first and a.finished_at > p_from and a.finished_at <= p_to
       and (v_every = 1 or (hashint8(a.job_id) & 2147483647) % v_every = 0);
  end if;
end $$;
