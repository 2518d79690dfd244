-- schedule_remove: forget a schedule and what it has not started yet; jobs it made go on, and its runs are kept, so
-- that one declared again repeats no slot. Raises: MR016.
create or replace function schedule_remove(p_name text, p_by text default null, p_because text default null)
  returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  delete from schedule where name = p_name;
  perform schedule_event_add(p_name, 'removed', p_by => p_by, p_because => p_because);
end $$;
