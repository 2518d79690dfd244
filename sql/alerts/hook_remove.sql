-- hook_remove: send nothing there any more. Rules lose it. Writes: hook, alert_rule, alert_event. Raises: MR024.
create or replace function hook_remove(p_name text, p_by text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform hook_found(p_name), note_check(p_by, null);
  update alert_rule set hooks = array_remove(hooks, p_name) where p_name = any (hooks);
  delete from hook where name = p_name;
  perform alert_event_add('hook removed', p_name, null, null, null, p_by);
end $$;
