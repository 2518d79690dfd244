-- sqs_move_start: begin to move the dead letters of a queue. Returns the task's id; null when one is running already.
-- Writes: sqs_move_task. Raises: MR003.
create or replace function sqs_move_start(p_source text, p_destination text, p_per_second int) returns uuid
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id uuid;
begin
  insert into sqs_move_task (source, destination, per_second, started_at, next_at, to_move)
  select p_source, p_destination, p_per_second, clock_now(), clock_now(), d.visible
    from sqs_queue s
    join queue q on q.id = s.queue_id
    cross join lateral sqs_depth(q.name) d
   where s.name = p_source
  on conflict do nothing returning id into v_id;
  return v_id;
end $$;
