-- queue_arrived: all of a queue has ended in the cell it came from: it is a queue like others now. Nothing when it is
-- one already. Locks: the queue's row. Writes: queue, queue_move, pause, queue_event. Raises: MR003.
create or replace function queue_arrived(p_queue text) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  delete from queue_move where queue_id = v_id and not is_leaving;
  if not found then
    return;
  end if;
  update queue set options = options - 'arrivesFrom', closed_at = null, closed_by = null, closed_because = null,
         closed_before = null
   where id = v_id;
  delete from pause where queue_id = v_id and job_id = 0;
  perform queue_event_add(p_queue, 'arrived'), queue_notify(array[p_queue]);
end $$;
