-- worker_concurrency: how many handlers workers may run at once from now on; null gives back what their code says. For
-- a process, a name, or a name in a process, as worker_pause. Handlers that run are not stopped. Returns how many
-- workers it is for. Writes: worker_order. Raises: MR001, MR022.
create or replace function worker_concurrency(p_process text, p_worker text, p_concurrency int,
  p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_count int;
begin
  if p_concurrency not between 1 and 9000 then
    perform raise_error('MR001', format('concurrency cannot be %s', p_concurrency),
      'give a whole number from 1 to 9000, or null for what the code says; to stop it, pause it');
  elsif p_concurrency is not null then
    return worker_order_put(p_process, p_worker, null, p_concurrency, p_by, p_because);
  end if;
  v_count := workers_named(p_process, p_worker);
  delete from worker_order
   where hold is null and process = coalesce(p_process, '') and worker = coalesce(p_worker, '');
  update worker_order set concurrency = null
   where hold is not null and process = coalesce(p_process, '') and worker = coalesce(p_worker, '');
  perform queue_notify('{!workers}');
  return v_count;
end $$;
