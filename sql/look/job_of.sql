-- job_of: the live job of a queue that has a fingerprint; null when there is none. Raises: MR003.
create or replace function job_of(p_queue text, p_fingerprint text) returns bigint
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
begin
  return (select f.job_id from fingerprint f
           where f.queue_id = queue_id(p_queue) and f.fingerprint = p_fingerprint and not job_over(f.job_id));
end $$;
