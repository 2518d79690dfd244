-- job_outcomes: which of these jobs have ended, and how. Unknown ids are told as state "unknown". For those who wait for results.
create or replace function job_outcomes(p_jobs bigint[])
returns table (job_id bigint, state text, reason text, result json, error json)
language plpgsql security definer set search_path from current as $$
declare
  a job_attempt;
  m amendment;
begin
  foreach job_id in array p_jobs loop
    state := coalesce(job_state(job_id), 'unknown');
    continue when state in ('ready', 'delayed', 'blocked', 'running');
    select * into a from job_attempt t where t.slot = job_slot(job_outcomes.job_id) and t.job_id = job_outcomes.job_id order by t.attempt desc limit 1;
    select * into m from amendment t where t.slot = job_slot(job_outcomes.job_id) and t.job_id = job_outcomes.job_id;
    reason := a.reason;
    result := a.result;
    error := coalesce(a.error, m.note);
    return next;
  end loop;
end $$;
