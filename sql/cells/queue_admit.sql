-- queue_admit: a queue that moves here has left the cell that it comes from (queue_leave), so it takes jobs here. To be
-- called by whoever knows that it has: with the version that the other cell tells with its refusal (MR030), or in
-- moves_get. Nothing for another version, or when it takes jobs already. Locks: the queue's row. Writes: queue. Raises:
-- MR003.
create or replace function queue_admit(p_queue text, p_version bigint) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update queue q set closed_at = null, closed_by = null, closed_because = null, closed_before = null
   where q.id = queue_id(p_queue) and q.closed_at is not null and exists (
     select from queue_move m where m.queue_id = q.id and not m.is_leaving and m.version = p_version);
end $$;
