-- job_fail: jobs of a claim failed for good, whatever attempts are left. Returns the ids not held.
-- Locks: the claim's rows. Writes: attempt, claim, fingerprint; job when dead-lettered. Raises: MR002.
create or replace function job_fail(p_token uuid, p_jobs bigint[] default null, p_error json default null)
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
begin
  return claim_close(p_token, p_jobs, 'failed', p_error, null, 'permanent');
end $$;
