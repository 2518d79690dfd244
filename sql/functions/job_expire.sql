-- job_expire: close waiting jobs of one ring child whose time to start has passed. The caller holds their lane's lock or took
-- them out of the agenda, so nobody else can decide on them. Returns how many were still open.
-- Writes: attempt, fingerprint.
create or replace function job_expire(p_slot smallint, p_jobs bigint[], p_now timestamptz) returns bigint
language plpgsql as $$
declare
  v_closed bigint[];
begin
  with closed as (
    insert into attempt (job_id, slot, attempt, outcome, state, finished_at)
    select u.id, p_slot, coalesce((select max(a.attempt) from attempt a where a.slot = p_slot and a.job_id = u.id), 0) + 1, 'expired', 'expired',
           greatest(p_now, job_created_at(u.id))
      from unnest(p_jobs) u (id)
     where not exists (
       select from attempt a left join amendment m on m.slot = p_slot and m.job_id = a.job_id
        where a.slot = p_slot and a.job_id = u.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0))
    returning job_id)
  select array_agg(job_id) into v_closed from closed;
  if v_closed is null then
    return 0;
  end if;
  perform fingerprint_release(v_closed, false);
  return cardinality(v_closed);
end $$;
