-- worker_leave: a process runs no workers any more; what was ordered for it goes too. Writes: worker_process,
-- worker_order.
create or replace function worker_leave(p_id text) returns void
language sql security definer set search_path from current set jit = off as $$
  delete from worker_order where process = p_id;
  delete from worker_process where id = p_id
$$;
