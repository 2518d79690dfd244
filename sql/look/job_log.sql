-- job_log: the newest lines that a job has logged: those of its run, as far as the worker has told them (is_running),
-- else those of its last attempt. Nulls when there are none. Raises: MR002.
create or replace function job_log(p_job bigint, out is_running boolean, out lines json, out updated_at timestamptz)
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  perform job_must_exist(array[p_job]);
  is_running := job_state(p_job) = 'running';
  if is_running then
    select l.lines, l.updated_at into lines, updated_at from running_log l
     where l.job_id = p_job and exists (select from claim c where c.token = l.token and p_job = any (c.jobs));
  else
    select coalesce(a.log, a.error -> 'log'), a.finished_at into lines, updated_at from job_attempt a
     where a.slot = job_slot(p_job) and a.job_id = p_job
     order by a.attempt desc limit 1;
  end if;
end $$;
