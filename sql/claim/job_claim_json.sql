-- job_claim_json: claim jobs for a worker; the driver's form of job_claim. Returns an array of claims, one per lane and
-- ring child, and {"more", "busy", "limited", "waitSeconds"} as its last element when it holds fewer than asked for
-- although there may be more: what comes next did not fit (bytes, or a job that is claimed alone), lanes were in
-- somebody else's hands, or at a limit, and when the first rate allows for more. Claims under a limit have a "fence", a
-- number higher than that of all claims before it under the same limit. Lanes go by priority, then by the age of their
-- oldest job; what was set aside of them goes last. Jobs that came due are promoted first; lost claims are reaped when
-- nothing else is found. p_group_limit: at most so many of one group in ordered batches. p_async lets the commit be
-- asynchronous: only for a transaction that does nothing else.
-- Locks: lanes (busy ones are skipped; a transaction that has written nothing yet waits for one at most, in key order),
-- limits (lane_room).
-- Writes: lane_cursor, claim, attempt, tally, ticket. Raises: MR001, MR003, MR006, MR007.
create or replace function job_claim_json(
  p_queues text[] default '{default}', p_types text[] default null, p_limit int default 1, p_worker text default null,
  p_lease_seconds float8 default null, p_lease_factor float8 default null, p_lease_cap_seconds float8 default null,
  p_max_bytes bigint default 67108864, p_track_start boolean default false, p_async boolean default false,
  p_group_limit int default null) returns json
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return claim_do((p_queues, p_types, p_limit, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap_seconds,
    p_max_bytes, p_track_start, p_group_limit)::claim_request, p_async, true);
end $$;
