-- schedule_durations: how many runs of a schedule ended within each window up to now, and of its last p_runs, and how
-- long they took; of those that are kept (keepRuns). window_seconds is null for the last ones. Raises: MR001, MR016.
create or replace function schedule_durations(p_name text, p_runs int default 10,
  p_windows float8[] default '{3600,86400,604800}')
returns table (window_seconds float8, runs bigint, succeeded bigint, attempts bigint, total_seconds float8,
  average_seconds float8)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
begin
  if not exists (select from schedule where name = p_name) then
    perform raise_error('MR016', format('there is no schedule "%s"', p_name),
      'those there are, are in the view "schedules"');
  elsif p_runs is null
    or p_runs not between 1 and 10000
    or coalesce(cardinality(p_windows), 0) > 100
    or exists (select from unnest(p_windows) w where w is null or not (w > 0 and w <= 1e9)) then
    perform raise_error('MR001', 'the last 1 to 10,000 runs and up to 100 windows can be looked at',
      'give seconds above 0, at most 1e9');
  end if;
  return query
  with run as materialized (
    select r.finished_at, r.outcome, r.attempts, r.seconds,
           row_number() over (order by r.finished_at desc, r.slot_at desc) as n
      from schedule_run r
     where r.schedule = p_name and r.outcome is not null
  )
  select w.seconds, count(r.n), count(*) filter (where r.outcome = 'succeeded'), coalesce(sum(r.attempts), 0),
         coalesce(sum(r.seconds), 0), sum(r.seconds) / nullif(sum(r.attempts), 0)
    from (select null::float8 as seconds union select unnest(p_windows)) w
    left join run r on case when w.seconds is null then r.n <= p_runs
                            else r.finished_at > v_now - make_interval(secs => w.seconds) end
   group by w.seconds order by w.seconds nulls first;
end $$;
