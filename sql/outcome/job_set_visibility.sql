-- job_set_visibility: give one job of a claim its own end of lease, from now. It leaves the others but keeps the token.
-- 0 ends the lease at once. Returns the new end, or null when the token does not hold the job. Writes: claim. Raises:
-- MR001, MR002.
create or replace function job_set_visibility(p_token uuid, p_job bigint, p_seconds float8) returns timestamptz
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  h claim;
  v_until timestamptz;
begin
  if p_seconds is null or not p_seconds between 0 and 43200 then
    perform raise_error('MR001', format('a visibility of %s seconds is not possible', p_seconds), 'give 0 to 43200');
  end if;
  v_until := clock_now() + make_interval(secs => p_seconds);
  perform claims_check();
  update claim set until = v_until, touched_at = clock_now() where token = p_token and jobs = array[p_job];
  if found then
    return v_until;
  end if;
  select * into h from claim_detach(p_token, array[p_job]);
  if not found then
    return null;
  end if;
  insert into claim (token, part, lane, slot, worker, jobs, attempts, unstarted, deadline, started_at, touched_at,
                     until, track, linked)
  select h.token, coalesce(max(c.part), -1) + 1, h.lane, h.slot, h.worker, h.jobs, h.attempts,
         case when h.unstarted @> h.jobs then h.jobs end, h.deadline,
         h.started_at, clock_now(), v_until, h.track, h.linked
    from claim c where c.token = p_token;
  return v_until;
end $$;
