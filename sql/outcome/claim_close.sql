-- claim_close: end attempts that did not succeed. Each job is retried, or closed as failed or expired.
-- p_reason permanent closes at once. Used by job_fail, job_retry_later and job_dead_letter. Returns the ids not held.
create or replace function claim_close(p_token uuid, p_jobs bigint[], p_outcome job_outcome, p_error json,
  p_delay_seconds float8, p_reason failure_reason, p_dead_letter int default null) returns bigint[]
language plpgsql as $$
declare
  h claim;
  v_all bigint[] := '{}';
begin
  p_error := error_storable(p_error);
  for h in select * from claim_detach(p_token, p_jobs) loop
    perform attempts_close(h, p_outcome, p_error, p_delay_seconds, p_reason, p_dead_letter);
    v_all := v_all || h.jobs;
  end loop;
  return array(select id from unnest(p_jobs) id where id not in (select unnest(v_all)));
end $$;

-- lane_enter: to be called before jobs are put back into a lane. It shares the lane's entry, so that a purge and this
-- wait for each other. Returns the time from then on: later than that of each purge before it, also when the clock was
-- put back.
-- Locks: the lane's entry, shared.
create or replace function lane_enter(p_lane bigint) returns timestamptz
language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(lane_entry(p_lane));
  return greatest(clock_now(),
    (select max(p.purged_at) + interval '1 microsecond' from lane_purge p where p.lane = p_lane));
end $$;

-- attempts_close: record an unsuccessful end for all jobs of a detached claim part, and decide what becomes of each.
-- The handler's own word goes first: that another try would not help, or when to try. Next comes the rule for the error
-- (errorRules), if there is one: it replaces the retry policy, and a list of delays replaces the number of attempts
-- too. A run that was lost while it undid its steps goes on with that, some times. A lost attempt is retried at once,
-- and alone unless the queue says otherwise (lostAlone). With deadLetterAfter, and a queue to go to, that many attempts
-- are the last, whatever the job's own number is. Where the time to start is computed (start_by infinity), the end of
-- the first attempt that was used up settles it, counted from the claim of that attempt. From then on it is kept like
-- that of any other job, and is the job's deadline too.
-- Writes: attempt, agenda, ticket, tally, fingerprint; breaker_event where there is a breaker; amendment when the time
-- to start was computed; job when dead-lettered; pause where onFailure says so.
create or replace function attempts_close(h claim, p_outcome job_outcome, p_error json, p_delay_seconds float8,
  p_reason failure_reason, p_dead_letter int) returns void
language plpgsql as $$
declare
  v_now timestamptz := lane_enter(h.lane);
  v_tickets ticket[];
  v_final bigint[];
  v_buried record;
  v_options jsonb;
  v_queue jsonb;
  v_rule jsonb;
  v_target int := p_dead_letter;
  v_most int;
  v_timed bigint[];
  v_ends timestamptz[];
  v_batches boolean;
  v_alone boolean;
begin
  perform days_check(h.slot);
  select c.options || q.options || coalesce(t.options, '{}'), q.options into v_options, v_queue
    from cell c, lane l join queue q on q.id = l.queue_id left join job_type t on t.type = l.type where l.key = h.lane;
  v_batches := h.track is not null and coalesce(v_queue ->> 'ordered' = 'batches', false);
  v_alone := p_outcome = 'lost' and not v_batches and (v_options -> 'lostAlone') is distinct from 'false';
  if v_options ? 'deadLetterQueue' and v_target is null then
    v_target := (select id from queue where name = v_options ->> 'deadLetterQueue');
    v_most := case when v_target is not null then (v_options ->> 'deadLetterAfter')::int end;
  end if;
  if v_options ? 'breaker' and p_outcome = 'failed' and p_delay_seconds is null then
    perform breaker_failed(h, v_options -> 'breaker', p_error);
  end if;
  if v_options ? 'errorRules' and p_reason is null and p_delay_seconds is null then
    v_rule := error_rule(v_options -> 'errorRules', p_error, p_outcome = 'lost');
    p_reason := case when v_rule ? 'fail' then 'permanent' end;
  end if;

  with fate as materialized (
    select u.id, u.attempt, coalesce(m.version, 0) as version, y.track, chained(v_queue, y.track <> h.lane) as chained,
           d.due_at, d.computed,
           case when p_reason = 'permanent' then 'failed'
                when u.attempt >= p.last and not (p_outcome = 'lost' and u.attempt < p.last + 10
                  and run_is_undoing(h.slot, u.id)) then 'failed'
                when coalesce(d.computed, m.start_by, j.start_by) <= greatest(d.due_at, v_now)
                  then 'expired' end::job_final_state as state
      from unnest(h.jobs, h.attempts) u (id, attempt)
      join job j on j.slot = h.slot and j.id = u.id
      left join amendment m on m.slot = h.slot and m.job_id = u.id
      cross join lateral (select group_track(h.lane, j.group_key) as track) y
      cross join lateral (
        select coalesce(v_rule -> 'delays', v_rule -> 'retry', j.retry, v_options -> 'retry') as retry,
               case when v_rule ? 'delays' then coalesce(m.revived_after, 0) else 0 end as before,
               case when v_rule ? 'delays'
                    then least(coalesce(m.revived_after, 0) + jsonb_array_length(v_rule -> 'delays') + 1,
                               m.max_attempts)
                    else least(coalesce(m.max_attempts, j.max_attempts), v_most) end as last) p
      cross join lateral (
        select case when v_batches and p_outcome = 'lost' and v_rule is null then least(h.until, v_now) else v_now end
               + case when p_outcome = 'lost' and v_rule is null then interval '0'
                      when p_delay_seconds is not null then seconds(p_delay_seconds)
                      else retry_delay(p.retry, u.attempt - p.before) end as due_at) x
      cross join lateral (
        select case when v_options ? 'blocked' then calendar_free(v_options -> 'blocked', x.due_at)
                    else x.due_at end as due_at,
               case when coalesce(m.start_by, j.start_by) = 'infinity'
                    then h.started_at + make_interval(secs => ttl_computed(
                           p.retry, u.attempt - p.before, p.last - p.before, j.attempt_timeout_ms)) end as computed) d
  ), recorded as (
    insert into attempt (
      job_id, started_at, finished_at, retry_at, attempt, slot, outcome, state, reason, worker, error)
    select f.id, h.started_at, greatest(v_now, h.started_at), case when f.state is null then f.due_at end, f.attempt,
           h.slot, p_outcome, f.state,
           case when f.state = 'failed'
                then coalesce(p_reason, case when p_outcome = 'lost' then 'lost' else 'exhausted' end::failure_reason)
                end,
           h.worker, p_error
      from fate f
  ), again as materialized (
    select f.* from fate f where f.state is null
  ), later as (
    insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain)
    select id, due_at, h.lane, track, attempt + 1, version, v_alone, v_now,
           case when chained then (due_at <= v_now)::int end
      from again
     where due_at > v_now or chained
  ), tickets as (
    select array_agg(ticket_of(again_of(track), jobs, attempt + 1, version, v_alone, null) order by first) as made
      from (select track, attempt, version, array_agg(id order by id) as jobs, min(id) as first
              from again
             where due_at <= v_now and not chained
             group by track, attempt, version, (case when v_alone then id end)) t
  ), turns as (
    select array[line_ticket_of(h.lane, array_agg(track order by first))] as made
      from (select track + case when chained then 0 else 1 end as track, min(id) as first
              from again
             where due_at <= v_now and track <> h.lane
             group by 1) t
    having count(*) > 0
  ), counted as (
    insert into tally (lane, ready, delayed)
    select h.lane, count(*) filter (where due_at <= v_now), count(*) filter (where due_at > v_now)
      from again
    having count(*) > 0
  )
  select array_agg(f.id) filter (where f.state is not null),
         array_agg(f.id) filter (where f.computed is not null and f.state is distinct from 'failed'),
         array_agg(f.computed) filter (where f.computed is not null and f.state is distinct from 'failed'),
         (select made from tickets) || (select made from turns)
    into v_final, v_timed, v_ends, v_tickets
    from fate f;
  if v_tickets is not null then
    perform tickets_write(v_tickets);
  end if;

  if v_timed is not null then
    insert into amendment (job_id, slot, updated_at)
    select id, h.slot, v_now from unnest(v_timed) id
    on conflict do nothing;
    update amendment m set start_by = u.ends_at, deadline = u.ends_at, updated_at = v_now
      from unnest(v_timed, v_ends) u (id, ends_at)
     where m.slot = h.slot and m.job_id = u.id;
  end if;
  if v_final is not null then
    if v_options ->> 'onFailure' = 'pause' then
      perform queue_fail(h.lane, v_final[1], p_outcome, p_error);
    end if;
    -- into a finished queue nothing goes: the job stays failed where it is
    if v_target is not null and queues_reenter(array[v_target]) = '{}' then
      for v_buried in
        select a.job_id, a.attempt from attempt a
         where a.slot = h.slot and a.job_id = any (v_final) and a.state = 'failed'
         order by a.job_id
      loop
        perform job_copy(v_buried.job_id, v_target, json_build_object('attempts', v_buried.attempt, 'error', p_error));
      end loop;
    end if;
    perform fingerprint_release(v_final);
    if h.linked then
      perform notice_append(v_final, 1);
    end if;
  end if;
end $$;
