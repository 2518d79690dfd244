-- schedules_left: forget schedules that another cell has taken over (schedules_arrive); their runs are kept. Writes:
-- schedule, schedule_event.
create or replace function schedules_left(p_names text[]) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_remove(s.name, 'millrace', 'moved to another cell')
     from schedule s where s.name = any (p_names);
end $$;
