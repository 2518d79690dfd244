-- queue_close, queue_open: take no more jobs into a queue, or take them again while it has not finished. When the last
-- job of a closed queue has ended, it is finished (queues_finish). Running and waiting jobs go on; those that failed
-- may be retried until then.
-- Locks: the queue's row; queue_open also queue_links, so that nobody finishes it meanwhile. Writes: queue,
-- queue_event.
-- Raises: MR003; MR014 to close what is closed, or to open what is finished; MR001 to open what is open; MR007; MR030
-- for what has moved to another cell, MR032 while it moves here.
create or replace function queue_close(p_queue text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  if exists (select from queue_move where queue_id = v_queue_id and not is_leaving) then
    perform move_refuse('moving', format('queue "%s" is just moving here', p_queue),
      'wait until that move has ended, or it would seem finished before it is');
  end if;
  update queue set closed_at = clock_now(), closed_by = p_by, closed_because = p_because, closed_before = null
   where id = v_queue_id and closed_at is null;
  if not found then
    perform queue_refuse(v_queue_id);
  end if;
  perform queue_event_add(p_queue, 'closed', p_by, p_because);
end $$;

-- queue_refuse: say that a queue is closed or finished, or lives in another cell. Usable inside expressions; never
-- returns. Raises: MR014, MR030.
create or replace function queue_refuse(p_queue_id int) returns text
language plpgsql stable as $$
declare
  q queue;
  m queue_move;
begin
  select * into q from queue where id = p_queue_id;
  select * into m from queue_move where queue_id = p_queue_id and (is_leaving or q.closed_at is not null);
  if m.queue_id is not null then
    return raise_error('MR030', format(case when m.is_leaving then 'queue "%s" has moved to the cell "%s"'
      else 'queue "%s" is to move here, and is still in the cell "%s"' end, q.name, m.cell), 'enqueue there',
      json_build_object('queue', q.name, 'cell', m.cell, 'version', m.version)::text);
  elsif q.finished_at is not null then
    return raise_error('MR014', format('queue "%s" is finished', q.name),
      'use another queue: a finished one takes no jobs, and cannot be opened again');
  end if;
  return raise_error('MR014',
    format('queue "%s" is closed%s', q.name,
      coalesce(' by ' || q.closed_by, '') || coalesce(': ' || q.closed_because, '')),
    'open it again with queue_open(name), or use another queue');
end $$;

-- queues_pin: for a transaction whose snapshot may be older than the close of a queue. PostgreSQL refuses it (40001)
-- when a queue that it enqueues to has changed since. Takes the options of job_enqueue or job_enqueue_many.
-- Locks: queue rows, shared.
create or replace function queues_pin(p_options json) returns void
language plpgsql as $$
begin
  perform from queue
   where name in (
     select coalesce(o.value ->> 'queue', 'default')
       from json_array_elements(
              case json_typeof(p_options) when 'array' then p_options else json_build_array(p_options) end) o
      where json_typeof(o.value) = 'object')
   order by id for share;
end $$;
