-- job_complete: record success for jobs of a claim (null: all of them), with results and logs as arrays in the same
-- order. Only attempts still held by the token are recorded; the ids of the rest are returned. Idempotent.
-- Locks: the claim's rows. Writes: attempt, streak, claim, fingerprint; breaker_event when a breaker has counted.
-- Raises: MR001 when results or logs and jobs differ in number, MR002, MR004 when one is too large; nothing was written
-- then.
create or replace function job_complete(p_token uuid, p_jobs bigint[] default null, p_results json default null,
  p_logs json default null) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  h claim;
  v_all bigint[] := '{}';
  v_given json;
begin
  if p_results is not null or p_logs is not null then
    foreach v_given in array array[p_results, p_logs] loop
      if v_given is not null and (p_jobs is null or json_typeof(v_given) <> 'array'
        or json_array_length(v_given) <> cardinality(p_jobs)) then
        perform raise_error('MR001', 'results or logs and jobs differ in number',
          'give one per job id, null where there is none');
      end if;
    end loop;
    perform jsons_check('result', p_results, bound('resultBytes')), jsons_check('log', p_logs, bound('logBytes'));
  end if;
  -- Nearly always a report names all jobs of its claim: one statement takes it, if nobody has changed it.
  if p_jobs is not null and current_setting('transaction_isolation') = 'read committed' then
    delete from claim where token = p_token and part = 0 and jobs = p_jobs and track is null returning * into h;
    if h.token is not null then
      h.attempts := coalesce(h.attempts, array_fill(1, array[cardinality(h.jobs)]));
      perform attempts_succeed(h, p_jobs, p_results, p_logs);
      return '{}';
    end if;
  end if;
  for h in select * from claim_detach(p_token, p_jobs) loop
    perform attempts_succeed(h, p_jobs, p_results, p_logs);
    v_all := v_all || h.jobs;
  end loop;
  if p_jobs is null or cardinality(p_jobs) = cardinality(v_all) then
    return '{}';
  end if;
  return array(select id from unnest(p_jobs) id where id not in (select unnest(v_all)));
end $$;

-- attempts_succeed: record success for all jobs of a detached claim part. p_results and p_logs are in the order of
-- p_jobs. Writes: attempt, streak, fingerprint; breaker_event when a breaker has counted.
create or replace function attempts_succeed(h claim, p_jobs bigint[], p_results json, p_logs json) returns void
language plpgsql as $$
declare
  v_end constant timestamptz := greatest(clock_now(), h.started_at);
begin
  perform fingerprint_release(h.jobs);
  if h.linked then
    perform notice_append(h.jobs, 1);
  end if;
  if (select breakers from cell) then
    perform breaker_succeeded(h);
  end if;
  if p_results is null and p_logs is null then
    if cardinality(h.jobs) > 1 then
      h := streaks_append(h, v_end);
      if h.jobs = '{}' then
        return;
      end if;
    end if;
    insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker)
    select u.id, h.started_at, v_end, u.attempt, h.slot, 'succeeded', 'succeeded', h.worker
      from unnest(h.jobs, h.attempts) u (id, attempt);
  else
    insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker, result, log)
    select u.id, h.started_at, v_end, u.attempt, h.slot, 'succeeded', 'succeeded', h.worker, r.value, l.value
      from unnest(h.jobs, h.attempts) u (id, attempt)
      left join (select p_jobs[e.i] as id, e.value from json_array_elements(p_results) with ordinality e (value, i)
                  where json_typeof(e.value) <> 'null') r on r.id = u.id
      left join (select p_jobs[e.i] as id, e.value from json_array_elements(p_logs) with ordinality e (value, i)
                  where json_typeof(e.value) <> 'null') l on l.id = u.id;
  end if;
end $$;

-- streaks_append: record first attempts that ended well and have nothing to tell, jobs with neighbouring places in one
-- row. Takes what was detached from a claim, and returns it with jobs and attempts cut down to those that are still to
-- be recorded. Writes: streak.
create or replace function streaks_append(h claim, p_finished_at timestamptz) returns claim
language plpgsql as $$
declare
  v_first constant bigint[] := case
    when 1 = all (h.attempts) then h.jobs
    else array(select u.id from unnest(h.jobs, h.attempts) u (id, attempt) where u.attempt = 1) end;
  v_recorded int;
begin
  -- Of jobs one microsecond apart, id and position differ by the same number; where others lie between them, the extent
  -- gives it away.
  with appended as (
    insert into streak (first_place, started_at, finished_at, length, slot, worker)
    select job_place(min(u.id)), h.started_at, p_finished_at, count(*), h.slot, h.worker
      from unnest(v_first) with ordinality u (id, i) group by u.id - (u.i << 12)
    having count(*) > 1 and max(u.id) - min(u.id) = (count(*) - 1) << 12
    returning length)
  select coalesce(sum(length), 0) into v_recorded from appended;
  if v_recorded = cardinality(h.jobs) then
    h.jobs := '{}';
  elsif v_recorded > 0 then
    select array_agg(x.id), array_agg(x.attempt) into h.jobs, h.attempts
      from (select u.id, 1 as attempt,
                   count(*) over same > 1
                     and max(u.id) over same - min(u.id) over same = (count(*) over same - 1) << 12 as recorded
              from unnest(v_first) with ordinality u (id, i) window same as (partition by u.id - (u.i << 12))
            union all
            select u.id, u.attempt, false from unnest(h.jobs, h.attempts) u (id, attempt) where u.attempt <> 1) x
     where not x.recorded;
  end if;
  return h;
end $$;
