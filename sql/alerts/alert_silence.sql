-- alert_silence: send nothing for what a rule fires, for so many seconds; 0 ends the silence. With a subject ("mail",
-- "mail/send") only for that, which need not fire yet; a hundred of them at most. It fires and shows all the same. What
-- still holds when the silence ends is sent then, and so is the end of what was told before. Writes: alert_rule,
-- alert_event. Raises: MR001, MR024.
create or replace function alert_silence(p_name text, p_seconds float8, p_by text default null,
  p_because text default null, p_subject text default null) returns timestamptz
language plpgsql security definer set search_path from current set jit = off as $$
declare
  r constant alert_rule := alert_rule_found(p_name);
  v_until timestamptz;
  v_silences jsonb;
begin
  perform note_check(p_by, p_because);
  if p_seconds is null or p_seconds not between 0 and 2592000 then
    perform raise_error('MR001', format('a silence cannot last %s seconds', p_seconds), 'give 0 to 2592000');
  elsif length(p_subject) not between 1 and 500 then
    perform raise_error('MR001', 'the subject of an alert has 1 to 500 characters', 'alerts tell their subjects');
  end if;
  v_until := case when p_seconds > 0 then clock_now() + seconds(p_seconds) end;
  if p_subject is null then
    update alert_rule set silenced_until = v_until, silenced_by = case when p_seconds > 0 then p_by end,
      silenced_because = case when p_seconds > 0 then p_because end where name = p_name;
  else
    select coalesce(jsonb_object_agg(key, value), '{}') into v_silences
      from jsonb_each(r.options -> 'silences')
     where key <> p_subject and (value ->> 'until')::timestamptz > clock_now();
    if v_until is not null then
      v_silences := v_silences || jsonb_build_object(p_subject,
        jsonb_build_object('until', v_until, 'by', p_by, 'because', p_because));
    end if;
    if (select count(*) from jsonb_object_keys(v_silences)) > 100 then
      perform raise_error('MR001', 'a hundred subjects of the rule are silenced already', 'silence the rule');
    end if;
    update alert_rule set options = r.options - 'silences' || case when v_silences = '{}' then '{}'
      else jsonb_build_object('silences', v_silences) end where name = p_name;
  end if;
  perform alert_event_add(case when p_seconds > 0 then 'silenced' else 'unsilenced' end, p_name, p_subject, p_seconds,
    p_because, p_by);
  return v_until;
end $$;
