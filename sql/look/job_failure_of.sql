-- job_failure_of: the kind of a job's last error (error_fingerprint), as job_failures puts them together; null when it
-- has none. Raises: nothing.
create or replace function job_failure_of(p_job bigint) returns text
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select error_fingerprint(v.last_error) from jobs v where v.id = p_job and v.last_error is not null);
end $$;
