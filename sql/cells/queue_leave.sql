-- queue_leave: a queue has moved to another cell: it is closed here, with a word of where it is. Its jobs here go on
-- until they have ended, retries, releases and follow-ups too; then it is finished here, by the proof that closing has
-- (queues_finish). An enqueue that has not seen it is honoured here, one that has is refused with the new cell (MR030).
-- p_settings: what the other cell was told of it (queue_settings). False, and nothing is done, when something else is
-- set for it now, or speaks against its move: then the other cell must be told again. Null for one that need not be
-- told there. The same again changes nothing.
-- Locks: queue_links, the queue's row. Writes: queue, queue_move, route, queue_event. Raises: MR003, MR007, MR032.
create or replace function queue_leave(p_queue text, p_to text, p_version bigint, p_settings jsonb,
  p_by text default null) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_now jsonb;
  q queue;
  m queue_move;
begin
  perform isolation_check('moving a queue'), cell_name_check(p_to);
  perform pg_advisory_xact_lock(queue_links());
  select * into q from queue where id = v_id for no key update;
  select * into m from queue_move where queue_id = v_id;
  if m.is_leaving and m.cell = p_to then
    return true;
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
  if p_settings is not null then
    v_now := queue_settings(p_queue);
    if settings_lasting(v_now) <> settings_lasting(p_settings) or v_now -> 'against' <> '[]' then
      return false;
    end if;
  end if;
  insert into queue_move (queue_id, cell, is_leaving, version, began_at, began_by)
  values (v_id, p_to, true, p_version, clock_now(), p_by);
  update queue set closed_at = clock_now(), closed_by = p_by, closed_because = format('moved to the cell "%s"', p_to),
         closed_before = null
   where id = v_id;
  perform route_put(p_queue, p_to, p_version);
  perform queue_event_add(p_queue, 'moved', p_by, format('to the cell "%s"', p_to));
  return true;
end $$;

-- settings_lasting: those parts of queue_settings that the other cell has, or goes by.
create or replace function settings_lasting(p_settings jsonb) returns jsonb
language sql immutable as $$
  select p_settings - '{live,latestDueAt,schedules,paused,closed,parts,against}'::text[]
$$;

-- left_refuse: refuse to change what is set for a queue that has left: it is to be set where the queue is, and here
-- with queue_put_left or group_put_left. Who holds the queue's row knows whether it has. Raises: MR030.
create or replace function left_refuse(p_queue_id int) returns void
language plpgsql as $$
begin
  if current_setting('millrace.left', true) is distinct from 'on'
     and exists (select from queue_move m where m.queue_id = p_queue_id and m.is_leaving) then
    perform queue_refuse(p_queue_id);
  end if;
end $$;
