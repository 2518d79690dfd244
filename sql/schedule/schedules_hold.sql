-- schedules_hold: making a run of a schedule failed, as when its queue is full or finished: say so, and try again
-- later. Writes: schedule_state.
create or replace function schedules_hold(p_name text, p_revision int, p_seconds float8, p_error json) returns void
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
begin
  update schedule_state set next_try_at = clock_now() + make_interval(secs => p_seconds), error = p_error
   where schedule = p_name and revision = p_revision;
end $$;
