-- history_sample: write down what the last minute was, of all queues, of each queue and of each type of it. One process
-- at a time does it, whichever comes first: the row "history" of duty has when it was last done, and in "holder" how
-- far the logs were read: {"minute", "hour", "starts"}. A minute is looked at from two seconds after its end on. Up to
-- five minutes that nobody looked at are made up for, without what waited and ran; a longer time is a gap. When an hour
-- has ended, its minutes become one row each (history_roll). Returns how many minutes were written. The cost depends on
-- the number of lanes and on what happened, up to a bound: 2000 pages of each log and 10,000 ended attempts of each day
-- are read, beyond that a part of them stands for all. At most a thousand queues and a thousand types are written,
-- those with most to tell. What a transaction enqueued or ended in that minute, and commits later than the look, is not
-- counted. Locks: the duty's row (skipped when taken); a child of the ring when it is emptied, for 200 ms at most.
-- Writes: sample_minute, sample_hour, history_series, duty. Raises: nothing.
create or replace function history_sample() returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '200ms' as $$
declare
  v_minute constant int := floor((date_part('epoch', clock_now()) - 2) / 60) - 1;
  v_ends constant int[] := history_ends();
  v_state jsonb;
  v_hour constant int := (v_minute + 1) / 60 - 1;  -- the last one that has ended
  v_last int;
  v_rolled int;
  v_starts int[];
  v_begins boolean;
begin
  select coalesce(holder::jsonb, '{}') into v_state from duty where name = 'history' for update skip locked;
  v_last := (v_state ->> 'minute')::int;
  v_rolled := coalesce((v_state ->> 'hour')::int, v_hour);
  if v_state is null or v_last = v_minute then
    return 0;
  end if;
  -- at first, after a gap, and when the clock was put back there is no place to read from
  v_begins := v_last is null or v_minute - v_last not between 1 and 5;
  perform history_rotate('sample_minute', coalesce(v_last / 360, v_minute / 360 - 5), v_minute / 360, 5);
  v_starts := case when v_begins then v_ends
                   else array(select s::int from jsonb_array_elements_text(v_state -> 'starts') s) end;
  if not v_begins then
    for m in v_last + 1 .. v_minute loop
      perform history_write(m, v_starts, v_ends, m = v_minute);
    end loop;
    v_starts := history_starts(v_starts, v_ends, to_timestamp((v_minute + 1) * 60.0));
  end if;
  perform history_rotate('sample_hour', coalesce(v_rolled / 120, v_hour / 120 - 7), v_hour / 120, 7);
  for h in greatest(v_rolled + 1, v_hour - 24) .. v_hour loop
    perform history_roll(h);
  end loop;
  update duty set done_at = to_timestamp((v_minute + 1) * 60.0),
    holder = jsonb_build_object('minute', v_minute, 'hour', v_hour, 'starts', v_starts)::text
   where name = 'history';
  return case when v_begins then 0 else v_minute - v_last end;
end $$;

-- history_rotate: empty the children of a ring that are used next, when a new one begins: p_from is the turn of the
-- last row, p_to that of the next.
create or replace function history_rotate(p_ring text, p_from int, p_to int, p_children int) returns void
language plpgsql as $$
begin
  for turn in greatest(p_from + 1, p_to - p_children + 1) .. p_to loop
    if pg_relation_size(format('%I', p_ring || '_' || turn % p_children)) > 0 then
      execute format('truncate %I', p_ring || '_' || turn % p_children);
    end if;
  end loop;
end $$;

-- history_ends: how many pages each child of the logs has: of "attempt" (the first 32), "streak" and "job".
create or replace function history_ends() returns int[]
language plpgsql as $$
begin
  return (
    select array_agg((pg_relation_size(i.inhrelid) / current_setting('block_size')::int)::int
           order by array_position(array['attempt', 'streak', 'job']::regclass[], i.inhparent::regclass), c.relname)
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('attempt'::regclass, 'streak'::regclass, 'job'::regclass));
end $$;

-- history_starts: where the next minute's rows begin in each child of the logs: at the first page that has one. Pages
-- at the end are filled in no order, so some before are read too.
create or replace function history_starts(p_starts int[], p_ends int[], p_to timestamptz) returns int[]
language plpgsql as $$
begin
  return array(
    select greatest(0, least(
             case when e.now_end > e.start
                    then history_first(((e.i - 1) / 32)::int, ((e.i - 1) % 32)::smallint, e.start, p_to) end,
             e.now_end) - 8)
      from unnest(p_starts, p_ends) with ordinality e (start, now_end, i)
     order by e.i);
end $$;

-- history_first: the first page of a child of a log (0: attempt, 1: streak, 2: job) from p_page on that has a row from
-- p_to on; null when there is none. Planned anew each time: with the child known, 31 others need not be looked at.
create or replace function history_first(p_log int, p_slot smallint, p_page int, p_to timestamptz) returns int
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_indexscan = off as $$
declare
  v_from constant tid := format('(%s,0)', p_page)::tid;
  v_found tid;
begin
  case p_log
    when 0 then select a.ctid into v_found from attempt a
      where a.slot = p_slot and a.ctid >= v_from and a.finished_at >= p_to limit 1;
    when 1 then select s.ctid into v_found from streak s
      where s.slot = p_slot and s.ctid >= v_from and s.finished_at >= p_to limit 1;
    else select j.ctid into v_found from job j
      where j.slot = p_slot and j.ctid >= v_from and j.id >= job_id_at(p_to) limit 1;
  end case;
  return (v_found::text::point)[0]::int;
end $$;

-- history_write: the rows of one minute. p_now: it has just ended, so that what waits and runs now is of its end.
create or replace function history_write(p_minute int, p_starts int[], p_ends int[], p_now boolean) returns void
language plpgsql as $$
declare
  v_from constant timestamptz := to_timestamp(p_minute * 60.0);
  v_to constant timestamptz := to_timestamp((p_minute + 1) * 60.0);
begin
  with ended as materialized (
    select * from history_ended(v_from, v_to, p_starts, p_ends)
  ), key as (
    select e.weight, e.final, e.failed, e.kind, e.waited, e.ran, k.queue, k.type
      from ended e join queue q on q.id = e.queue_id
      cross join lateral (values ('', ''), (q.name, ''), (q.name, e.type)) k (queue, type)
  ), placed as (
    -- weights of those that waited, or ran, no longer than this one
    select k.*, sum(k.weight) filter (where k.waited is not null) over w_wait as wait_place,
           sum(k.weight) filter (where k.waited is not null) over (partition by k.queue, k.type) as waits,
           sum(k.weight) over w_run as run_place, sum(k.weight) over (partition by k.queue, k.type) as runs
      from key k
    window w_wait as (partition by k.queue, k.type order by k.waited rows unbounded preceding),
           w_run as (partition by k.queue, k.type order by k.ran rows unbounded preceding)
  ), kind as (
    select n.queue, n.type, jsonb_object_agg(n.kind, n.jobs) as kinds
      from (select x.queue, x.type, case when x.place <= 5 then x.kind else 'other' end as kind,
                   round(sum(x.jobs))::int as jobs
              from (select k.queue, k.type, k.kind, sum(k.weight) as jobs,
                           row_number() over (partition by k.queue, k.type order by sum(k.weight) desc, k.kind) as place
                      from key k where k.kind is not null group by 1, 2, 3) x
             group by 1, 2, 3) n
     group by 1, 2
  ), done as (
    select p.queue, p.type, round(coalesce(sum(p.weight) filter (where p.final), 0)) as finished,
           round(sum(p.weight)) as runs, round(coalesce(sum(p.weight) filter (where p.failed), 0)) as failed,
           min(p.waited) filter (where p.wait_place >= 0.5 * p.waits) as wait_p50,
           min(p.waited) filter (where p.wait_place >= 0.95 * p.waits) as wait_p95,
           min(p.ran) filter (where p.run_place >= 0.5 * p.runs) as run_p50,
           min(p.ran) filter (where p.run_place >= 0.95 * p.runs) as run_p95
      from placed p group by 1, 2
  ), made as (
    select k.queue, k.type, round(sum(m.jobs)) as enqueued
      from history_made(v_from, v_to, p_starts, p_ends) m join queue q on q.id = m.queue_id
      cross join lateral (values ('', ''), (q.name, ''), (q.name, m.type)) k (queue, type)
     group by 1, 2
  ), state as (
    select k.queue, k.type, greatest(sum(s.waiting), 0) as waiting, sum(s.running) as running,
           max(s.oldest_seconds) as oldest_seconds
      from history_state(v_to) s
      cross join lateral (values ('', ''), (s.queue, ''), (s.queue, s.type)) k (queue, type)
     where p_now group by 1, 2
  ), row as (
    select queue, type, coalesce(m.enqueued, 0) as enqueued, coalesce(d.finished, 0) as finished,
           coalesce(d.runs, 0) as runs, coalesce(d.failed, 0) as failed,
           case when p_now then coalesce(s.waiting, 0) end as waiting,
           case when p_now then coalesce(s.running, 0) end as running,
           s.oldest_seconds, d.wait_p50, d.wait_p95, d.run_p50, d.run_p95, k.kinds
      from (values ('', '')) a (queue, type) full join made m using (queue, type) full join done d using (queue, type)
      full join state s using (queue, type) left join kind k using (queue, type)
  ), told as materialized (
    select r.* from (
        select r.*, row_number() over (partition by r.type = ''
                 order by r.queue = '' desc, r.enqueued + r.runs + coalesce(r.waiting + r.running, 0) desc) as place
          from row r
         where r.queue = '' or r.enqueued + r.runs + coalesce(r.waiting + r.running, 0) > 0) r
     where r.place <= 1000
  ), named as (
    insert into history_series (queue, type, used_at)
    select t.queue, t.type, v_to from told t
     where not exists (select from history_series h
                        where h.queue = t.queue and h.type = t.type and h.used_at > v_to - interval '1 day')
    on conflict (queue, type) do update set used_at = excluded.used_at
    returning id, queue, type
  )
  insert into sample_minute (series, minute, slot, enqueued, finished, runs, failed, waiting, running, oldest_seconds,
    wait_p50, wait_p95, run_p50, run_p95, kinds)
  select coalesce(n.id, h.id), p_minute, p_minute / 360 % 5, t.enqueued, t.finished, t.runs, t.failed, t.waiting,
         t.running, t.oldest_seconds, t.wait_p50, t.wait_p95, t.run_p50, t.run_p95, t.kinds
    from told t
    left join named n using (queue, type)
    left join history_series h using (queue, type)
  on conflict do nothing;
end $$;

-- history_made: how many jobs came in between two times, by queue and type. Of more than 2000 new pages, twenty pieces
-- of 100 stand for all.
create or replace function history_made(p_from timestamptz, p_to timestamptz, p_starts int[], p_ends int[])
returns table (queue_id int, type text, jobs float8)
language plpgsql as $$
begin
  return query
  select m.queue_id, m.type, sum(m.jobs * p.factor)
    from (select distinct job_slot(job_id_at(t)) as slot from unnest(array[p_from, p_to]) t) d
    cross join lateral history_pieces(p_starts[65 + d.slot], p_ends[65 + d.slot]) p
    cross join lateral history_made_piece(d.slot, p.first, p.last, job_id_at(p_from), job_id_at(p_to)) m
   group by 1, 2;
end $$;

-- history_pieces: the pages from p_start up to p_end, or pieces that stand for them; factor: for how many.
create or replace function history_pieces(p_start int, p_end int)
returns table (first int, last int, factor float8)
language sql immutable as $$
  select p_start, p_end, 1.0::float8 where p_end - p_start between 1 and 2000
  union all
  select (p_start + (p_end - p_start)::bigint * n / 20)::int, (p_start + (p_end - p_start)::bigint * n / 20)::int + 100,
         (p_end - p_start) / 2000.0
    from generate_series(0, 19) n where p_end - p_start > 2000
$$;

create or replace function history_made_piece(p_slot smallint, p_first int, p_last int, p_from bigint, p_to bigint)
returns table (queue_id int, type text, jobs bigint)
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_indexscan = off as $$
declare
  v_first constant tid := format('(%s,0)', p_first)::tid;
  v_last constant tid := format('(%s,0)', p_last)::tid;
begin
  return query
  select j.queue_id, j.type, count(*) from job j
   where j.slot = p_slot and j.ctid >= v_first and j.ctid < v_last and j.id >= p_from and j.id < p_to
   group by 1, 2;
end $$;

-- history_ended: attempts that ended between two times; weight: how many a row stands for. final: the job ended with
-- it; waited: how long its job had waited for its first attempt; ran: from its claim to its end; kind: of a failure.
create or replace function history_ended(p_from timestamptz, p_to timestamptz, p_starts int[], p_ends int[])
returns table (queue_id int, type text, weight float8, final boolean, failed boolean, kind text, waited float8,
  ran float8)
language plpgsql as $$
begin
  return query
  select r.queue_id, r.type, r.weight * p.factor, r.final, r.failed, r.kind, r.waited, r.ran
    from unnest(p_starts[1:64], p_ends[1:64]) with ordinality e (start, now_end, i)
    cross join lateral history_pieces(e.start, e.now_end) p
    cross join lateral history_piece(((e.i - 1) % 32)::smallint, e.i > 32, p.first, p.last, p_from, p_to,
      case when p.factor > 1 then 500 else 10000 end) r
   where e.now_end > 0;
end $$;

create or replace function history_piece(p_slot smallint, p_streak boolean, p_first int, p_last int,
  p_from timestamptz, p_to timestamptz, p_most int)
returns table (queue_id int, type text, weight float8, final boolean, failed boolean, kind text, waited float8,
  ran float8)
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_first constant tid := format('(%s,0)', p_first)::tid;
  v_last constant tid := format('(%s,0)', p_last)::tid;
  v_every int;
begin
  if p_streak then
    return query
    select j.queue_id, j.type, s.length::float8, true, false, null::text,
           greatest(0, date_part('epoch', s.started_at - greatest(job_created_at(j.id), j.run_at))),
           greatest(0, date_part('epoch', s.finished_at - s.started_at))
      from streak s join job j on j.slot = s.slot and j.id = job_at(s.first_place)
     where s.slot = p_slot and s.ctid >= v_first and s.ctid < v_last and s.finished_at >= p_from
       and s.finished_at < p_to;
    return;
  end if;
  select ceil(count(*) / p_most::float8) into v_every from attempt a
   where a.slot = p_slot and a.ctid >= v_first and a.ctid < v_last and a.finished_at >= p_from and a.finished_at < p_to;
  if v_every > 0 then
    return query
    select j.queue_id, j.type, v_every::float8, a.state is not null, a.outcome in ('failed', 'lost'),
           case a.outcome when 'lost' then 'lost'
             when 'failed' then left(coalesce(nullif(error_member(a.error, 'name'), 'Error'),
               error_member(a.error, 'code'), 'Error'), 60) end,
           case when a.attempt = 1
                  then greatest(0, date_part('epoch', a.started_at - greatest(job_created_at(j.id), j.run_at))) end,
           greatest(0, date_part('epoch', a.finished_at - a.started_at))
      from attempt a join job j on j.slot = a.slot and j.id = a.job_id
     where a.slot = p_slot and a.ctid >= v_first and a.ctid < v_last and a.finished_at >= p_from
       and a.finished_at < p_to
       and (v_every = 1 or (hashint8(a.job_id) & 2147483647) % v_every = 0);
  end if;
end $$;

-- history_state: what waits and runs now, by queue and type; how long the oldest has waited is told of the 200 lanes
-- that have most, and of none of a queue that is paused or waits for others, nor of dead letters.
create or replace function history_state(p_at timestamptz)
returns table (queue text, type text, waiting bigint, running bigint, oldest_seconds float8)
language plpgsql as $$
declare
  v_letters constant text[] := letter_queues();
begin
  return query
  with depth as materialized (
    select n.lane, sum(n.ready)::bigint as ready, sum(n.running)::bigint as running
      from (select d.lane, d.ready, 0 as running from lane_depth d where d.ready <> 0
            union all
            select t.lane, t.ready, 0 from tally t
            union all
            select c.lane, 0, cardinality(c.jobs) from claim c) n
     group by n.lane having sum(n.ready) > 0 or sum(n.running) > 0
  ), oldest as materialized (
    select o.lane, lane_oldest(o.lane, 10) as id from lanes_open(200) o (lane)
  )
  select q.name, l.type, greatest(sum(d.ready), 0)::bigint, sum(d.running)::bigint,
         max(case when q.name <> all (v_letters) then age_seconds(p_at, greatest(job_created_at(j.id), j.run_at)) end)
    from depth d join lane_known l on l.key = d.lane join queue q on q.id = l.queue_id
    left join oldest o on o.lane = d.lane
    left join job j on j.slot = job_slot(o.id) and j.id = o.id
   group by 1, 2;
end $$;

-- history_roll: the minutes of an hour as one row for each series. Counts are sums; waiting, running and oldest_seconds
-- the highest; the median is that of the minutes' medians, and the 95th percentile that of theirs, each minute as often
-- as it had runs: so one bad minute of sixty does not show in it, and four do. Forgets series that have nothing left.
create or replace function history_roll(p_hour int) returns void
language plpgsql as $$
begin
  with minute as materialized (
    select s.* from sample_minute s where s.minute between p_hour * 60 and p_hour * 60 + 59
  ), placed as (
    select m.*, sum(m.runs) over (partition by m.series) as all_runs,
           sum(m.runs) filter (where m.wait_p50 is not null) over (partition by m.series) as waits,
           sum(m.runs) filter (where m.wait_p50 is not null) over (w order by m.wait_p50) as wait_50,
           sum(m.runs) filter (where m.wait_p50 is not null) over (w order by m.wait_p95) as wait_95,
           sum(m.runs) over (w order by m.run_p50) as run_50, sum(m.runs) over (w order by m.run_p95) as run_95
      from minute m
    window w as (partition by m.series)
  ), kind as materialized (
    select n.series, jsonb_object_agg(n.kind, n.jobs) as kinds
      from (select x.series, case when x.place <= 5 then x.key else 'other' end as kind, sum(x.jobs) as jobs
              from (select m.series, k.key, sum(k.value::int) as jobs,
                           row_number() over (partition by m.series order by sum(k.value::int) desc, k.key) as place
                      from minute m cross join lateral jsonb_each_text(m.kinds) k group by 1, 2) x
             group by 1, 2) n
     group by 1
  )
  insert into sample_hour (series, hour, slot, enqueued, finished, runs, failed, waiting, running, oldest_seconds,
    wait_p50, wait_p95, run_p50, run_p95, kinds)
  select p.series, p_hour, p_hour / 120 % 7, least(sum(p.enqueued), 2147483647), least(sum(p.finished), 2147483647),
         least(sum(p.runs), 2147483647), least(sum(p.failed), 2147483647), max(p.waiting), max(p.running),
         max(p.oldest_seconds), min(p.wait_p50) filter (where p.wait_50 >= 0.5 * p.waits),
         min(p.wait_p95) filter (where p.wait_95 >= 0.95 * p.waits),
         min(p.run_p50) filter (where p.run_50 >= 0.5 * p.all_runs and p.runs > 0),
         min(p.run_p95) filter (where p.run_95 >= 0.95 * p.all_runs and p.runs > 0),
         (array_agg(k.kinds) filter (where k.kinds is not null))[1]
    from placed p left join kind k on k.series = p.series group by p.series
  on conflict do nothing;
  delete from history_series where used_at < to_timestamp(p_hour * 3600.0) - interval '36 days';
end $$;
