-- job_dead_letter: close jobs of a claim as failed and put copies into another queue, in one transaction. Returns the
-- ids not held.
-- Locks: the claim's rows. Writes: attempt, claim, job, ticket. Raises: MR002, MR003, MR014 when that queue is
-- finished.
create or replace function job_dead_letter(p_token uuid, p_jobs bigint[], p_queue text, p_error json default null)
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_target int := queue_id(p_queue);
begin
  if queues_reenter(array[v_target]) <> '{}' then
    perform queue_refuse(v_target);
  end if;
  return claim_close(p_token, p_jobs, 'failed', p_error, null, 'permanent', v_target);
end $$;
