-- schedules_yield: give the duty up, so that the next process can take it at once. Writes: duty.
create or replace function schedules_yield(p_holder text) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update duty set holder = null, until = '-infinity' where name = 'schedule' and holder = p_holder;
end $$;
