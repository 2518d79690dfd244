-- alert_silence: send nothing for what a rule fires, for so many seconds; 0 ends the silence. It fires and shows all
-- the same. What still holds when the silence ends is sent then. Writes: alert_rule, alert_event. Raises: MR001, MR024.
create or replace function alert_silence(p_name text, p_seconds float8, p_by text default null,
  p_because text default null) returns timestamptz
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_until timestamptz;
begin
  perform alert_rule_found(p_name);
  perform note_check(p_by, p_because);
  if p_seconds is null or p_seconds not between 0 and 2592000 then
    perform raise_error('MR001', format('a silence cannot last %s seconds', p_seconds), 'give 0 to 2592000');
  end if;
  v_until := case when p_seconds > 0 then clock_now() + seconds(p_seconds) end;
  update alert_rule set silenced_until = v_until, silenced_by = case when p_seconds > 0 then p_by end,
    silenced_because = case when p_seconds > 0 then p_because end where name = p_name;
  perform alert_event_add(case when p_seconds > 0 then 'silenced' else 'unsilenced' end, p_name, null, p_seconds,
    p_because, p_by);
  return v_until;
end $$;
