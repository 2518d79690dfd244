-- job_progress: the last value that progress_put stored for a job, and when. Nulls when there is none. Raises: MR002.
create or replace function job_progress(p_job bigint, out value json, out updated_at timestamptz)
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  perform job_must_exist(array[p_job]);
  select p.value, p.updated_at into value, updated_at
    from progress p
   where p.slot = job_slot(p_job) and p.job_id = p_job;
end $$;
