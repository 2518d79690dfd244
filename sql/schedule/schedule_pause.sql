-- schedule_pause, schedule_resume: make no runs for a while. What came meanwhile is left out, unless it is to be made
-- up for by the schedule's own rule for missed runs. One that stopped by itself, because of failed runs or a cancelled
-- one, is resumed too. Pausing again changes who and why. Raises: MR016, and MR001 to resume what is not paused.
create or replace function schedule_pause(p_name text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  update schedule set paused_at = coalesce(paused_at, clock_now()), paused_by = p_by, paused_because = p_because
   where name = p_name;
  update schedule_state set is_paused = true where schedule = p_name;
  perform schedule_event_add(p_name, 'paused', p_by => p_by, p_because => p_because);
end $$;
