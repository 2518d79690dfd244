-- group_put_left: group_put in a cell that a queue has left, for the jobs that are left here. To be called once it is
-- set where the queue is. Raises: as group_put.
create or replace function group_put_left(p_queue text, p_group text, p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  perform set_config('millrace.left', 'on', true);
  v_options := group_put(p_queue, p_group, p_options);
  perform set_config('millrace.left', '', true);
  return v_options;
end $$;
