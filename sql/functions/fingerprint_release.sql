-- fingerprint_release: finished jobs no longer stand in the way of their fingerprint; a follow-up becomes due.
-- With p_wait false (for callers that hold a lane), rows a producer is deciding on are left to maintain().
-- Locks: fingerprint rows. Writes: fingerprint, agenda.
create or replace function fingerprint_release(p_jobs bigint[], p_wait boolean default true) returns void
language plpgsql as $$
declare
  f fingerprint;
begin
  if not exists (select from fingerprint) then
    return;
  end if;
  if p_wait then
    perform from fingerprint where job_id = any (p_jobs) order by queue_id, fingerprint for update;
  end if;
  for f in select * from fingerprint where job_id = any (p_jobs) order by queue_id, fingerprint for update skip locked loop
    if f.follow_up is not null then
      update fingerprint set job_id = f.follow_up, follow_up = null where queue_id = f.queue_id and fingerprint = f.fingerprint;
      update agenda set due_at = clock_now() where job_id = f.follow_up and due_at = 'infinity';
    elsif f.until is null or f.until <= clock_now() then
      delete from fingerprint where queue_id = f.queue_id and fingerprint = f.fingerprint;
    end if;
  end loop;
end $$;
