-- job_durations: how many attempts ended within each window up to now, and how long they took: one row per type and
-- window, shortest window first. A type with runs in the longest window, or the one asked for, has a row for every
-- window. An attempt counts from its claim to its end, however it ended; what is neither succeeded nor failed was lost,
-- cancelled or expired. Records that have passed their retention count no more. Scans the records of attempts: they
-- have no index by time, which every finished job would pay for. p_windows are seconds, 1 to 100 of them.
-- Raises: MR001, MR003.
create or replace function job_durations(p_type text default null, p_queue text default null,
  p_windows float8[] default '{60,3600,86400}')
returns table (type text, window_seconds float8, runs bigint, succeeded bigint, failed bigint, total_seconds float8,
  average_seconds float8, last_seconds float8, last_finished_at timestamptz)
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_custom_plan as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_now constant timestamptz := clock_now();
  v_longest float8;
begin
  if coalesce(cardinality(p_windows), 0) not between 1 and 100 then
    perform raise_error('MR001', format('%s windows cannot be looked at', coalesce(cardinality(p_windows), 0)),
      'give 1 to 100');
  elsif exists (select from unnest(p_windows) w where w is null or not (w > 0 and w <= 1e9)) then
    perform raise_error('MR001', format('windows cannot be %s', p_windows), 'give seconds above 0, at most 1e9');
  end if;
  v_longest := (select max(w) from unnest(p_windows) w);
  return query
  with run as materialized (
    select j.type, a.finished_at, a.outcome, a.jobs, date_part('epoch', a.finished_at - a.started_at) as seconds
      from (select slot, job_id, started_at, finished_at, outcome, 1 as jobs from attempt
            union all
            -- jobs of one claim have one type
            select slot, job_at(first_place), started_at, finished_at, 'succeeded', length from streak) a
      join job j on j.slot = a.slot and j.id = a.job_id
     where a.finished_at > v_now - make_interval(secs => v_longest)
       and (p_type is null or j.type = p_type) and (v_queue_id is null or j.queue_id = v_queue_id)
  ), kind as (
    select p_type as type where p_type is not null union select r.type from run r
  )
  select k.type, w.seconds, coalesce(sum(r.jobs), 0), coalesce(sum(r.jobs) filter (where r.outcome = 'succeeded'), 0),
         count(*) filter (where r.outcome = 'failed'),
         coalesce(sum(r.seconds * r.jobs), 0), sum(r.seconds * r.jobs) / sum(r.jobs),
         (max(array[date_part('epoch', r.finished_at), r.seconds]) filter (where r.seconds is not null))[2],
         max(r.finished_at)
    from kind k cross join (select distinct unnest(p_windows) as seconds) w
    left join run r on r.type = k.type and r.finished_at > v_now - make_interval(secs => w.seconds)
   group by k.type, w.seconds order by k.type, w.seconds;
end $$;
