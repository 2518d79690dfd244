-- queue_pause, queue_resume: stop and continue handing out a queue's jobs, or only those of a type, of a group, or of a
-- group's type. Costs nothing, whatever waits; running jobs go on, and new ones may be enqueued. Pausing again changes
-- who and why. Writes: queue, pause, queue_event. Raises: MR003, and MR001 to resume what is not paused.
create or replace function queue_pause(p_queue text, p_by text default null, p_because text default null,
  p_type text default null, p_group text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
begin
  perform name_check('type', p_type), name_check('group', p_group);
  if p_type is null and p_group is null then
    update queue set paused_at = coalesce(paused_at, clock_now()), paused_by = p_by, paused_because = p_because
     where id = v_queue_id;
  else
    insert into pause (queue_id, type, group_key, hash, paused_at, paused_by, paused_because)
    values (v_queue_id, p_type, p_group, group_track(0, p_group), clock_now(), p_by, p_because)
    on conflict (queue_id, coalesce(type, ''), coalesce(group_key, ''), coalesce(job_id, 0))
      do update set paused_by = excluded.paused_by, paused_because = excluded.paused_because;
  end if;
  perform queue_event_add(p_queue, 'paused', p_by, p_because, p_type, p_group);
end $$;
