-- queue_open: take jobs into a closed queue again; see queue_close.
create or replace function queue_open(p_queue text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  perform isolation_check('opening a queue');
  perform pg_advisory_xact_lock(queue_links());
  if exists (select from queue_move m join queue q on q.id = m.queue_id
              where q.id = v_queue_id and (m.is_leaving or q.closed_at is not null)) then
    perform queue_refuse(v_queue_id);
  end if;
  update queue set closed_at = null, closed_by = null, closed_because = null, closed_before = null
   where id = v_queue_id and closed_at is not null and finished_at is null;
  if not found then
    if exists (select from queue where id = v_queue_id and finished_at is not null) then
      perform queue_refuse(v_queue_id);
    end if;
    perform raise_error('MR001', format('queue "%s" is not closed', p_queue),
      'the view "queues" tells the state of each');
  end if;
  perform queue_event_add(p_queue, 'opened', p_by, p_because);
end $$;

-- queues_reenter: to be called before jobs are brought into queues other than by an enqueue (retries, dead letters,
-- redrive). That is allowed while a queue is closed, but not when it is finished. Returns the finished ones. A closed
-- one cannot finish from now to the end of this transaction.
-- Locks: closed queue rows, shared.
create or replace function queues_reenter(p_queue_ids int[]) returns int[]
language plpgsql as $$
declare
  v_xid constant bigint := xid_now();  -- before the look, as in an enqueue (queues_finish)
  v_any constant boolean := current_setting('transaction_isolation') <> 'read committed';
begin
  if v_any or exists (select from queue where id = any (p_queue_ids) and closed_at is not null) then
    perform from queue
     where id = any (p_queue_ids) and (v_any or closed_at is not null) and finished_at is null
     order by id for share;
  end if;
  return array(select id from queue where id = any (p_queue_ids) and finished_at is not null order by id);
end $$;
