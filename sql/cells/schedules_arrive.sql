-- schedules_arrive: take over schedules of a queue that has moved here (schedules_leave), as they were: next slot,
-- slots that wait, facts. One that is here already stays as it is. Writes: schedule, schedule_state, schedule_pending,
-- schedule_event.
create or replace function schedules_arrive(p_schedules json) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  x record;
  s schedule;
  t schedule_state;
begin
  for x in select e.value from json_array_elements(p_schedules) e loop
    s := json_populate_record(null::schedule, x.value -> 'schedule');
    t := json_populate_record(null::schedule_state, x.value -> 'state');
    t.is_paused := s.paused_at is not null;
    insert into schedule select s.* on conflict do nothing;
    continue when not found;
    insert into schedule_state select t.*;
    insert into schedule_pending
    select p.* from json_populate_recordset(null::schedule_pending, x.value -> 'pending') p;
    perform schedule_event_add(s.name, 'created', p_by => 'millrace', p_because => 'moved here from another cell');
  end loop;
end $$;
