-- queue_close, queue_open: take no more jobs into a queue, or take them again while it has not finished. When the last job of a closed queue
-- has ended, it is finished (queues_finish). Running and waiting jobs go on; those that failed may be retried until then.
-- Locks: the queue's row; queue_open also queue_links, so that nobody finishes it meanwhile. Writes: queue, queue_event.
-- Raises: MR003; MR014 to close what is closed, or to open what is finished; MR001 to open what is open; MR007.
create or replace function queue_close(p_queue text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  update queue set closed_at = clock_now(), closed_by = p_by, closed_because = p_because, closed_before = null where id = v_queue_id and closed_at is null;
  if not found then
    perform queue_refuse(v_queue_id);
  end if;
  perform queue_event_add(p_queue, 'closed', p_by, p_because);
end $$;

create or replace function queue_open(p_queue text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  perform isolation_check('opening a queue');
  perform pg_advisory_xact_lock(queue_links());
  update queue set closed_at = null, closed_by = null, closed_because = null, closed_before = null where id = v_queue_id and closed_at is not null and finished_at is null;
  if not found then
    if exists (select from queue where id = v_queue_id and finished_at is not null) then
      perform queue_refuse(v_queue_id);
    end if;
    perform raise_error('MR001', format('queue "%s" is not closed', p_queue), 'the view "queues" tells the state of each');
  end if;
  perform queue_event_add(p_queue, 'opened', p_by, p_because);
end $$;

-- queue_refuse: say that a queue is closed or finished. Usable inside expressions; never returns. Raises: MR014.
create or replace function queue_refuse(p_queue_id int) returns text
language plpgsql stable as $$
declare
  q queue;
begin
  select * into q from queue where id = p_queue_id;
  if q.finished_at is not null then
    return raise_error('MR014', format('queue "%s" is finished', q.name), 'use another queue: a finished one takes no jobs, and cannot be opened again');
  end if;
  return raise_error('MR014', format('queue "%s" is closed%s', q.name, coalesce(' by ' || q.closed_by, '') || coalesce(': ' || q.closed_because, '')),
    'open it again with queue_open(name), or use another queue');
end $$;

-- queues_pin: for a transaction whose snapshot may be older than the close of a queue: PostgreSQL refuses it (40001) when a queue it enqueues to has changed since.
-- Takes the options of job_enqueue or job_enqueue_many. Locks: queue rows, shared.
create or replace function queues_pin(p_options json) returns void
language plpgsql as $$
begin
  perform from queue where name in (
    select coalesce(o.value ->> 'queue', 'default') from json_array_elements(case json_typeof(p_options) when 'array' then p_options else json_build_array(p_options) end) o
     where json_typeof(o.value) = 'object') order by id for share;
end $$;

-- queues_reenter: whoever brings jobs into queues other than by an enqueue (retries, dead letters, redrive) asks here. They may while it is closed,
-- not when it is finished: returns those that are. A closed one cannot finish from now to the end of this transaction. Locks: closed queue rows, shared.
create or replace function queues_reenter(p_queue_ids int[]) returns int[]
language plpgsql as $$
declare
  v_xid constant bigint := xid_now();  -- before the look, as in an enqueue (queues_finish)
  v_any constant boolean := current_setting('transaction_isolation') <> 'read committed';
begin
  if v_any or exists (select from queue where id = any (p_queue_ids) and closed_at is not null) then
    perform from queue where id = any (p_queue_ids) and (v_any or closed_at is not null) and finished_at is null order by id for share;
  end if;
  return array(select id from queue where id = any (p_queue_ids) and finished_at is not null order by id);
end $$;
