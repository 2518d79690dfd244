-- queue_leave: a queue has moved to another cell: it is closed here, with a word of where it is. Its jobs here go on
-- until they have ended, retries, releases and follow-ups too; then it is finished here, by the proof that closing has
-- (queues_finish). An enqueue that has not seen it is honoured here, one that has is refused with the new cell (MR030).
-- The same again changes nothing.
-- Locks: queue_links, the queue's row. Writes: queue, queue_move, route, queue_event. Raises: MR003, MR007, MR032.
create or replace function queue_leave(p_queue text, p_to text, p_version bigint, p_by text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
  q queue;
  m queue_move;
begin
  perform isolation_check('moving a queue'), cell_name_check(p_to);
  perform pg_advisory_xact_lock(queue_links());
  select * into q from queue where id = v_id for no key update;
  select * into m from queue_move where queue_id = v_id;
  if m.is_leaving and m.cell = p_to then
    return;
  elsif m.queue_id is not null then
    perform move_refuse('moving', format('queue "%s" %s the cell "%s"', p_queue,
      case when m.is_leaving then 'has moved to' else 'still moves here from' end, m.cell),
      case when m.is_leaving then 'move it from there' else 'wait until that move has ended' end);
  elsif q.options ? 'spread' then
    perform move_refuse('spread', format('queue "%s" is spread over cells by tenant', p_queue),
      'leave it where it is; one that is no longer wanted can be closed');
  elsif q.closed_at is not null then
    perform move_refuse('closed', format('queue "%s" is closed', p_queue),
      'open it, or leave it where it is until it has finished');
  end if;
  insert into queue_move (queue_id, cell, is_leaving, version, began_at, began_by)
  values (v_id, p_to, true, p_version, clock_now(), p_by);
  update queue set closed_at = clock_now(), closed_by = p_by, closed_because = format('moved to the cell "%s"', p_to),
         closed_before = null
   where id = v_id;
  perform route_put(p_queue, p_to, p_version);
  perform queue_event_add(p_queue, 'moved', p_by, format('to the cell "%s"', p_to));
end $$;
