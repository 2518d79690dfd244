-- queue_pause, queue_resume: stop and continue handing out a queue's jobs. Costs nothing, whatever waits. Raises: MR003.
create or replace function queue_pause(p_queue text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update queue set paused_at = coalesce(paused_at, clock_now()), paused_by = p_by, paused_because = p_because where id = queue_id(p_queue);
end $$;

create or replace function queue_resume(p_queue text) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update queue set paused_at = null, paused_by = null, paused_because = null where id = queue_id(p_queue);
end $$;
