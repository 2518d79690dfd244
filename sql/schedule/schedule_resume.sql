-- schedule_resume: make runs again; see schedule_pause. p_catch_up: the rule for missed runs decides on those that came
-- meanwhile.
create or replace function schedule_resume(p_name text, p_by text default null, p_because text default null,
  p_catch_up boolean default false) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  update schedule set paused_at = null, paused_by = null, paused_because = null, finished_at = null,
         finished_because = null
   where name = p_name and (paused_at is not null or finished_because in ('cancelled', 'failed runs'));
  if not found then
    perform raise_error('MR001', format('schedule "%s" is not paused', p_name),
      'what is paused, and since when, is in the view "schedules"');
  end if;
  update schedule_state t set is_paused = false, failed_runs = 0,
         next_slot = case when x.goes_on then t.next_slot else '-infinity' end,
         base_at = case when x.goes_on then t.base_at else clock_now() end
    from (select p_catch_up and next_slot is not null or next_slot > clock_now() or awaits_end as goes_on
            from schedule_state
           where schedule = p_name) x
   where t.schedule = p_name;
  perform schedule_event_add(p_name, 'resumed', p_by => p_by, p_because => p_because), schedules_go_on(array[p_name]);
end $$;
