-- fingerprint_release: finished jobs no longer stand in the way of their fingerprint; a follow-up becomes due.
-- Writes: fingerprint, agenda.
create or replace function fingerprint_release(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  v_due bigint[];
begin
  if not exists (select from fingerprint) then
    return;
  end if;
  with moved as (
    update fingerprint set job_id = follow_up, follow_up = null where job_id = any (p_jobs) and follow_up is not null returning job_id
  ) select array_agg(job_id) into v_due from moved;
  if v_due is not null then
    update agenda set due_at = clock_now() where job_id = any (v_due) and due_at = 'infinity';
  end if;
  delete from fingerprint where job_id = any (p_jobs) and (until is null or until <= clock_now());
end $$;
