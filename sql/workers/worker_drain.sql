-- worker_drain: as worker_pause, for workers that shall come to an end: they are draining until their running handlers
-- have ended, then drained, and tell so. They stay, and take nothing, until worker_resume or until they are stopped.
-- Returns how many workers it is for. Writes: worker_order. Raises: MR001, MR022.
create or replace function worker_drain(p_process text default null, p_worker text default null,
  p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return worker_order_put(p_process, p_worker, 'drain', null, p_by, p_because);
end $$;
