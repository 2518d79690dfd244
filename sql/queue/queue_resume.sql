-- queue_resume: hand out jobs again that queue_pause held back; see there. Wakes the queue's workers.
create or replace function queue_resume(p_queue text, p_type text default null, p_group text default null,
  p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
  v_found boolean;
begin
  delete from pause
   where queue_id = v_queue_id and type is not distinct from p_type and group_key is not distinct from p_group
     and job_id is distinct from 0;  -- a queue that moves here goes on when it has arrived (queue_arrived)
  v_found := found;
  if p_type is null and p_group is null then
    update queue set paused_at = null, paused_by = null, paused_because = null
     where id = v_queue_id and paused_at is not null;
    v_found := found or v_found;
  end if;
  if not v_found then
    perform raise_error('MR001',
      format('%s is not paused',
        concat_ws(', ', 'queue "' || p_queue || '"', 'type "' || p_type || '"', 'group "' || p_group || '"')),
      'what is paused, and since when, is in the views "queues" and "pauses"');
  end if;
  if p_group is not null then
    perform group_announce(v_queue_id, group_track(0, p_group));
  end if;
  perform queue_event_add(p_queue, 'resumed', p_by, p_because, p_type, p_group), queue_notify(array[p_queue]);
end $$;

-- group_announce: put a group in line for a turn in all lanes of its queue: it may have jobs there that were passed
-- over. Writes: ticket.
create or replace function group_announce(p_queue_id int, p_hash bigint) returns void
language plpgsql as $$
begin
  perform line_append(l.key, array[track_of(p_hash, l.key)]) from lane l where l.queue_id = p_queue_id and l.grouped;
end $$;
