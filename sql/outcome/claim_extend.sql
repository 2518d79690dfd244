-- claim_extend: prolong leases from now on. Returns what each token still holds; a token or job that is missing was
-- lost or cancelled. A lease that has ended is prolonged too, as long as nobody has reaped the claim.
-- A claim that somebody is reporting on right now is told as it stands, and not waited for. A transaction that stays
-- open with a report must not end the other leases of its worker; its own is not reaped meanwhile.
-- Locks: claim rows (skipped when taken). Writes: claim (no indexed column). Raises: MR001.
create or replace function claim_extend(p_tokens uuid[], p_seconds float8 default 30)
  returns table (token uuid, lease_ends_at timestamptz, job_ids bigint[])
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_now();
begin
  if p_seconds is null or not p_seconds between 0.001 and 1e9 then
    perform raise_error('MR001', format('a lease of %s seconds is not possible', p_seconds), 'give more than 0');
  end if;
  perform claims_check();
  return query
  with held as (
    select c.token, c.part from claim c where c.token = any (p_tokens) order by c.token, c.part
       for no key update skip locked  -- a run that writes a step meanwhile is not in the way
  ), extended as (
    update claim c set until = v_now + make_interval(secs => p_seconds), touched_at = v_now
      from held where c.token = held.token and c.part = held.part
    returning c.token, c.part, c.until, c.jobs
  ), told as (
    select * from extended
    union all
    select c.token, c.part, c.until, c.jobs from claim c
     where c.token = any (p_tokens) and not exists (select from held where held.token = c.token and held.part = c.part))
  select e.token, min(e.until), array_agg(j.id order by e.part, j.i)
    from told e cross join lateral unnest(e.jobs) with ordinality j (id, i)
   group by e.token;
end $$;
