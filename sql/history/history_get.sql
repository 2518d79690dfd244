-- history_get: the history of all queues, of a queue, or of a type of it, for so many seconds up to now: by the minute
-- up to a day, by the hour up to thirty days. at is the end of the minute or the hour; where nobody looked there is no
-- row. Changes nothing. Raises: MR001.
create or replace function history_get(p_queue text default null, p_type text default null,
  p_seconds float8 default 3600)
returns table (at timestamptz, step_seconds int, enqueued int, finished int, runs int, failed int, waiting int,
  running int, oldest_seconds float8, wait_p50 float8, wait_p95 float8, run_p50 float8, run_p95 float8, kinds jsonb)
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_custom_plan as $$
declare
  v_now constant float8 := date_part('epoch', clock_now());
  v_all int;
  v_series int;
begin
  if p_queue is null and p_type is not null then
    perform raise_error('MR001', 'the history of a type is that of a queue', 'name the queue too');
  elsif p_seconds is null or p_seconds not between 1 and 2592000 then
    perform raise_error('MR001', format('%s seconds of history cannot be told', p_seconds), 'give 1 to 2592000');
  end if;
  select h.id into v_all from history_series h where h.queue = '' and h.type = '';
  select h.id into v_series from history_series h
   where h.queue = coalesce(p_queue, '') and h.type = coalesce(p_type, '');
  if not found then
    return;
  elsif p_seconds <= 86400 then
    return query
    select to_timestamp((a.minute + 1) * 60.0), 60, coalesce(s.enqueued, 0), coalesce(s.finished, 0),
           coalesce(s.runs, 0), coalesce(s.failed, 0), coalesce(s.waiting, a.waiting * 0),
           coalesce(s.running, a.running * 0), s.oldest_seconds::float8, s.wait_p50::float8, s.wait_p95::float8,
           s.run_p50::float8, s.run_p95::float8, s.kinds
      from sample_minute a
      left join sample_minute s on s.series = v_series and s.minute = a.minute and s.slot = a.slot
     where a.series = v_all and a.minute between ceil((v_now - p_seconds) / 60)::int - 1 and ceil(v_now / 60)::int
     order by a.minute;
  else
    return query
    select to_timestamp((a.hour + 1) * 3600.0), 3600, coalesce(s.enqueued, 0), coalesce(s.finished, 0),
           coalesce(s.runs, 0), coalesce(s.failed, 0), coalesce(s.waiting, a.waiting * 0),
           coalesce(s.running, a.running * 0), s.oldest_seconds::float8, s.wait_p50::float8, s.wait_p95::float8,
           s.run_p50::float8, s.run_p95::float8, s.kinds
      from sample_hour a
      left join sample_hour s on s.series = v_series and s.hour = a.hour and s.slot = a.slot
     where a.series = v_all and a.hour between ceil((v_now - p_seconds) / 3600)::int - 1 and ceil(v_now / 3600)::int
     order by a.hour;
  end if;
end $$;
