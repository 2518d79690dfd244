-- queue_put_left: queue_put in a cell that a queue has left, for the jobs that are left here. To be called once it is
-- set where the queue is. Raises: as queue_put.
create or replace function queue_put_left(p_queue text, p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  perform set_config('millrace.left', 'on', true);
  v_options := queue_put(p_queue, p_options);
  perform set_config('millrace.left', '', true);
  return v_options;
end $$;
