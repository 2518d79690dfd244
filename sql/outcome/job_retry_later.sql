-- job_retry_later: an attempt failed; try again later, or close the job when its attempts or its time are used up.
-- Without p_delay_seconds the job's own policy decides, else its type's, queue's and cell's. Returns the ids not held.
-- Locks: the claim's rows. Writes: attempt, claim, agenda or ticket, tally, fingerprint; job when dead-lettered.
-- Raises: MR001, MR002.
create or replace function job_retry_later(p_token uuid, p_jobs bigint[] default null, p_error json default null,
  p_delay_seconds float8 default null) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
begin
  if not p_delay_seconds between 0 and 1e9 then
    perform raise_error('MR001', format('a delay of %s seconds is not possible', p_delay_seconds), 'give 0 or more');
  end if;
  return claim_close(p_token, p_jobs, 'failed', p_error, p_delay_seconds, null);
end $$;
