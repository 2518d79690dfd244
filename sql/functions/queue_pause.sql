-- queue_pause, queue_resume: stop and continue handing out a queue's jobs, or only those of a type, of a group, or of a group's type. Costs nothing, whatever waits;
-- running jobs go on, and new ones may be enqueued. Pausing again changes who and why. Writes: queue, pause, queue_event. Raises: MR003, and MR001 to resume what is not paused.
create or replace function queue_pause(p_queue text, p_by text default null, p_because text default null, p_type text default null, p_group text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  perform name_check('type', p_type), name_check('group', p_group);
  if p_type is null and p_group is null then
    update queue set paused_at = coalesce(paused_at, clock_now()), paused_by = p_by, paused_because = p_because where id = v_queue_id;
  else
    insert into pause (queue_id, type, group_key, hash, paused_at, paused_by, paused_because)
    values (v_queue_id, p_type, p_group, group_track(0, p_group), clock_now(), p_by, p_because)
    on conflict (queue_id, coalesce(type, ''), coalesce(group_key, ''), coalesce(job_id, 0)) do update set paused_by = excluded.paused_by, paused_because = excluded.paused_because;
  end if;
  perform queue_event_add(p_queue, 'paused', p_by, p_because, p_type, p_group);
end $$;

create or replace function queue_resume(p_queue text, p_type text default null, p_group text default null, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
  v_found boolean;
begin
  delete from pause where queue_id = v_queue_id and type is not distinct from p_type and group_key is not distinct from p_group;
  v_found := found;
  if p_type is null and p_group is null then
    update queue set paused_at = null, paused_by = null, paused_because = null where id = v_queue_id and paused_at is not null;
    v_found := found or v_found;
  end if;
  if not v_found then
    perform raise_error('MR001', format('%s is not paused', concat_ws(', ', 'queue "' || p_queue || '"', 'type "' || p_type || '"', 'group "' || p_group || '"')),
      'what is paused, and since when, is in the views "queues" and "pauses"');
  end if;
  if p_group is not null then
    perform group_announce(v_queue_id, group_track(0, p_group));
  end if;
  perform queue_event_add(p_queue, 'resumed', p_by, p_because, p_type, p_group);
end $$;

-- group_announce: put a group in line for a turn in all lanes of its queue: it may have jobs there that were passed over. Writes: ticket.
create or replace function group_announce(p_queue_id int, p_hash bigint) returns void
language plpgsql as $$
begin
  insert into ticket (lane, xid, slot, jobs) select l.key + 2, xid_now(), ticket_slot(xid_now()), array[l.key # p_hash] from lane l where l.queue_id = p_queue_id and l.grouped;
end $$;
