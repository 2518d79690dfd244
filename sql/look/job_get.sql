-- job_get: one job with its attempts and progress, as JSON with ids as strings; null when there is no such job.
-- p_brief: inputs, results, headers and sources are not read, and are null.
create or replace function job_get(p_job bigint, p_brief boolean default false) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_job json;
begin
  if p_brief then
    select row_to_json(v) into v_job
      from (select p_job::text as id, queue, type, state, reason, priority, "group", tenant, attempts, max_attempts,
                   created_at, updated_at, run_at, expires_at, deadline, last_attempt_at, finished_at, worker,
                   lease_ends_at, lease_ended, discarded_at, last_error, null as result, attempt_timeout_seconds,
                   retry, fingerprint, schedule, schedule_slot, null as source, null as headers, null as input,
                   payload_size, content_type, stage, cost, parent::text as parent_text, waits, suspended_at,
                   resources
              from jobs where jobs.id = p_job) v;
  else
    select regexp_replace(row_to_json(v)::text, '^\{"id":(\d+)', '{"id":"\1"')::json into v_job
      from (select j.*, j.parent::text as parent_text from jobs j where j.id = p_job) v;
  end if;
  if v_job is null then
    return null;
  end if;
  return json_build_object(
    'job', v_job,
    'attempts', (
      select coalesce(json_agg(
               regexp_replace(row_to_json(a)::text, '^\{"job_id":(\d+)', '{"job_id":"\1"')::json order by a.attempt),
             '[]')
        from (select job_id, attempt, outcome, final_state, reason, worker, started_at, finished_at, error,
                     case when not p_brief then result end as result, log
                from attempts
               where job_id = p_job) a),
    'progress', (select p.value from progress p where p.slot = job_slot(p_job) and p.job_id = p_job));
end $$;
