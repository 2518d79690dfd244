-- schedules_settle: note the end of runs, and go on with what waited for it: the next slot of a schedule that counts
-- from the end, slots that queue, batches.
-- p_jobs: look at these; else at up to p_limit open runs beyond p_after, which is the name of a schedule and a job of
-- it. Returns how many had ended, and where to go on, null when that was all.
-- Locks: schedule_state in the order of names. Writes: as runs_settle and schedules_advance.
create or replace function schedules_settle(p_jobs bigint[] default null, p_after text[] default null,
  p_limit int default 1000, out settled int, out after text[])
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_runs schedule_run[];
  v_jobs bigint[];
begin
  if p_jobs is not null then
    v_runs := array(select r from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id
                      join schedule_run r on r.schedule = j.schedule and r.slot_at = j.schedule_slot and r.job_id = u.id
                     where r.outcome is null);
  else
    v_runs := array(select r from schedule_run r
                     where r.outcome is null
                       and (r.schedule, r.job_id) > (coalesce(p_after[1], ''), coalesce(p_after[2]::bigint, 0))
                     order by r.schedule, r.job_id limit p_limit);
    if cardinality(v_runs) = p_limit then
      after := array[v_runs[p_limit].schedule, v_runs[p_limit].job_id::text];
    end if;
  end if;
  settled := 0;
  if cardinality(v_runs) = 0 then
    return;
  end if;
  v_jobs := array(select o.job_id from job_outcomes(array(select r.job_id from unnest(v_runs) r)) o);
  settled := cardinality(v_jobs);
  if settled > 0 then
    v_runs := array(select r from unnest(v_runs) r where r.job_id = any (v_jobs));
    perform from schedule_state t
     where t.schedule in (select r.schedule from unnest(v_runs) r)
     order by t.schedule for update;
    perform schedules_go_on(runs_settle(v_runs));
  end if;
end $$;

-- runs_settle: note the end of runs whose jobs have ended, unless somebody has noted it: in the runs, and in the books
-- of their schedules. A run that was cancelled after a failed attempt has failed. Runs made by hand or for the past are
-- no failures of the schedule. Returns the schedules. The caller holds the rows of schedule_state.
-- Writes: schedule_run (the oldest go), schedule_state, schedule, schedule_event.
create or replace function runs_settle(p_runs schedule_run[]) returns text[]
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_names text[];
  v_full text[];  -- whose oldest runs go
begin
  if coalesce(cardinality(p_runs), 0) = 0 then
    return '{}';
  end if;
  with ended as materialized (
    select r.schedule, r.slot_at, r.kind in ('slot', 'late') as is_regular, o.error, a.*, o.state,
           case when o.state = 'cancelled' and a.failed > 0 or o.state = 'expired' then 'failed'
                else o.state end as counts_as
      from job_outcomes(array(select u.job_id from unnest(p_runs) u)) o
      join unnest(p_runs) u on u.job_id = o.job_id
      join schedule_run r on r.schedule = u.schedule and r.slot_at = u.slot_at and r.outcome is null
      cross join lateral (
        select count(*)::int as attempts, count(*) filter (where t.outcome <> 'succeeded')::int as failed,
               min(t.started_at) as started_at, max(t.started_at) as last_started_at,
               coalesce(max(t.finished_at), v_now) as finished_at,
               coalesce(sum(date_part('epoch', t.finished_at - t.started_at)), 0) as seconds,
               (array_agg(date_part('epoch', t.finished_at - t.started_at) order by t.attempt desc))[1] as last_seconds
          from job_attempt t where t.slot = job_slot(o.job_id) and t.job_id = o.job_id) a
  ), noted as (
    update schedule_run r set outcome = e.state, attempts = e.attempts, started_at = e.started_at,
           finished_at = e.finished_at, seconds = e.seconds, error = e.error
      from ended e where r.schedule = e.schedule and r.slot_at = e.slot_at
  ), sum as (
    select e.schedule, count(*) as runs, count(*) filter (where counts_as = 'succeeded') as succeeded,
           sum(e.attempts) as attempts, sum(e.seconds) as seconds,
           (array_agg(e.last_seconds order by e.finished_at desc) filter (where e.last_seconds is not null))[1]
             as last_seconds,
           max(e.last_started_at) as last_attempt_at,
           s.at as last_success_at, bool_or(e.state = 'cancelled') as has_cancelled,
           max(e.finished_at) filter (where e.is_regular) as regular_at,
           coalesce(sum(e.failed) filter (where e.is_regular and (s.at is null or e.finished_at > s.at)), 0)
             as failed_attempts,
           count(*) filter (where e.is_regular and counts_as = 'failed' and (s.at is null or e.finished_at > s.at))
             as failed_runs,
           (array_agg(e.error order by e.finished_at desc)
             filter (where e.is_regular and counts_as = 'failed' and (s.at is null or e.finished_at > s.at)))[1]
             as error
      from ended e
      left join lateral (select max(x.finished_at) as at from ended x
                          where x.schedule = e.schedule and x.counts_as = 'succeeded') s on true
     group by e.schedule, s.at
  ), booked as (
    update schedule_state t
       set runs = t.runs + m.runs, succeeded = t.succeeded + m.succeeded, attempts = t.attempts + m.attempts,
           seconds = t.seconds + m.seconds, last_seconds = coalesce(m.last_seconds, t.last_seconds),
           last_attempt_at = greatest(t.last_attempt_at, m.last_attempt_at),
           last_success_at = greatest(t.last_success_at, m.last_success_at),
           failed_attempts = m.failed_attempts + case when m.last_success_at is null then t.failed_attempts else 0 end,
           failed_runs = m.failed_runs + case when m.last_success_at is null then t.failed_runs else 0 end,
           error = case when m.last_success_at is not null then m.error else coalesce(m.error, t.error) end,
           awaits_end = t.awaits_end and m.regular_at is null,
           next_slot = case when t.awaits_end and m.regular_at is not null then '-infinity' else t.next_slot end,
           base_at = case when t.awaits_end then coalesce(m.regular_at, t.base_at) else t.base_at end
      from sum m where t.schedule = m.schedule
    returning t.schedule, t.failed_runs, m.has_cancelled, t.runs % 10 < m.runs as is_tenth
  ), stopped as (
    update schedule s set finished_at = v_now,
           finished_because = case when b.has_cancelled and s.options -> 'cancelStops' = 'true' then 'cancelled'
                                   else 'failed runs' end
      from booked b
     where s.name = b.schedule
       and s.finished_at is null
       and (b.failed_runs >= (s.options #>> '{afterFailure,stopAfter}')::int
            or b.has_cancelled and s.options -> 'cancelStops' = 'true')
    returning s.name, s.finished_because
  ), told as (
    insert into schedule_event (at, schedule, event, because)
    select v_now, name, 'stopped', finished_because from stopped
  )
  select array_agg(schedule), array_agg(schedule) filter (where is_tenth) into v_names, v_full from booked;
  update schedule_state t set next_slot = null
    from schedule s
   where t.schedule = any (v_names) and s.name = t.schedule and s.finished_at is not null;
  delete from schedule_pending p
    using schedule s
   where p.schedule = any (v_names)
     and s.name = p.schedule
     and s.finished_because in ('cancelled', 'failed runs')
     and p.batch is null;
  delete from schedule_run r using (
    select t.schedule,
           (select o.slot_at from schedule_run o
             where o.schedule = t.schedule
             order by o.slot_at desc offset coalesce((s.options ->> 'keepRuns')::int, 100) limit 1) as oldest
      from schedule_state t join schedule s on s.name = t.schedule where t.schedule = any (v_full)) k
   where r.schedule = k.schedule and r.slot_at <= k.oldest and r.outcome is not null;
  return coalesce(v_names, '{}');
end $$;
