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
  v_part record;
  h claim;
  v_now timestamptz := clock_now();
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
  for v_part in select d as part, (select breakers from cell) as watched from claim_detach(p_token, p_jobs) d loop
    h := v_part.part;
    perform fingerprint_release(h.jobs);
    if v_part.watched then
      perform breaker_succeeded(h);
    end if;
    v_all := v_all || h.jobs;
    if p_results is null and p_logs is null then
      if cardinality(h.jobs) > 1 then
        h := streaks_append(h, greatest(v_now, h.started_at));
        continue when h.jobs = '{}';
      end if;
      insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker)
      select u.id, h.started_at, greatest(v_now, h.started_at), u.attempt, h.slot, 'succeeded', 'succeeded', h.worker
        from unnest(h.jobs, h.attempts) u (id, attempt);
    else
      insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker, result, log)
      select u.id, h.started_at, greatest(v_now, h.started_at), u.attempt, h.slot, 'succeeded', 'succeeded', h.worker,
             r.value, l.value
        from unnest(h.jobs, h.attempts) u (id, attempt)
        left join (select p_jobs[e.i] as id, e.value from json_array_elements(p_results) with ordinality e (value, i)
                    where json_typeof(e.value) <> 'null') r on r.id = u.id
        left join (select p_jobs[e.i] as id, e.value from json_array_elements(p_logs) with ordinality e (value, i)
                    where json_typeof(e.value) <> 'null') l on l.id = u.id;
    end if;
  end loop;
  if p_jobs is null or cardinality(p_jobs) = cardinality(v_all) then
    return '{}';
  end if;
  return array(select id from unnest(p_jobs) id where id not in (select unnest(v_all)));
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
