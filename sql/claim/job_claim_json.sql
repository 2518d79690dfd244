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
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_express boolean := false;
  v_told text;
begin
  -- The common case at once: what claim_do does first, without a request as a value, which is an eighth of the cost.
  if (p_async and p_limit between 1 and 100 and p_lease_factor is null and p_lease_cap_seconds is null
      and p_max_bytes > 0 and coalesce(length(p_worker), 0) <= bound('nameLength')
      and coalesce(p_lease_seconds, 1) between 0.001 and 1e9
      and current_setting('transaction_isolation') = 'read committed'
      and current_setting('millrace.server', true) <> '') is true
     and set_config('synchronous_commit', 'off', true) is not null then
    v_told := claim_express(express_asked(p_queues, p_types, p_limit, current_setting('millrace.server')), p_limit,
      p_worker, p_lease_seconds, p_max_bytes, p_track_start, pg_current_xact_id_if_assigned() is null);
    v_express := true;
    if v_told <> '' then
      return ('[' || v_told || ']')::json;
    end if;
  end if;
  return claim_do((p_queues, p_types, p_limit, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap_seconds,
    p_max_bytes, p_track_start, p_group_limit)::claim_request, p_async, v_told is null, not v_express);
end $$;
