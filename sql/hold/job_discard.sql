-- job_discard: nobody will retry these jobs: they stay failed or expired, but wait for a decision no more. Leaves a
-- record of who decided it, and why. Works once, and for good. Returns how many; those in other states, and those
-- discarded before, are left alone.
-- Locks: as job_hold, so that of a retry and a discard only one finds the job undecided. Writes: amendment, decision.
-- Raises: MR002.
create or replace function job_discard(p_jobs bigint[], p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now timestamptz;
  v_count int := 0;
  v_id bigint;
begin
  perform job_must_exist(p_jobs);
  perform job_hold(p_jobs);
  v_now := clock_now();
  for v_id in select distinct id from unnest(p_jobs) id order by id loop
    continue when job_state(v_id) not in ('failed', 'expired');
    insert into amendment (job_id, slot, updated_at) values (v_id, job_slot(v_id), v_now) on conflict do nothing;
    update amendment set discarded_at = v_now, updated_at = v_now
     where slot = job_slot(v_id) and job_id = v_id and discarded_at is null;
    continue when not found;
    insert into decision (job_id, decided_at, action, decided_by, because)
    values (v_id, v_now, 'discard', p_by, p_because);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
