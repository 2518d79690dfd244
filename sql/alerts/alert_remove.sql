-- alert_remove: forget a rule; what it has fired is resolved, and told at once, silenced or not: nobody could tell it
-- later. Writes: alert_rule, alert, alert_event, and jobs that tell web hooks. Raises: MR024.
create or replace function alert_remove(p_name text, p_by text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform alert_rule_found(p_name);
  perform note_check(p_by, null);
  update alert_rule set silenced_until = null, options = options - 'silences' where name = p_name;
  perform alerts_resolve(p_name);
  delete from alert_rule where name = p_name;
  perform alert_event_add('removed', p_name, null, null, null, p_by);
end $$;
