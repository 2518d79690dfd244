-- sqs_move_cancel: let no further step of a task follow. Returns how many were moved so far, -1 when it is not running,
-- null when there is none. Waits for a step in progress. Writes: sqs_move_task.
create or replace function sqs_move_cancel(p_id uuid) returns bigint
language plpgsql security definer set search_path from current set jit = off as $$
declare
  t sqs_move_task;
begin
  select * into t from sqs_move_task where id = p_id for update;
  if t.status = 'RUNNING' then
    update sqs_move_task set status = 'CANCELLING', next_at = clock_now() where id = p_id;
    return t.moved;
  end if;
  return case when t.id is not null then -1 end;
end $$;
