-- calendar_put: name days on which schedules that name the calendar make no run; none: forget it. Raises: MR001.
create or replace function calendar_put(p_name text, p_days date[]) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  if coalesce(name_check('calendar', p_name), '') = '' or array_position(p_days, null) is not null
    or cardinality(p_days) > 10000 then
    perform raise_error('MR001', 'a calendar has a name, and 1 to 10,000 days', 'give days such as 2026-12-25');
  end if;
  if coalesce(cardinality(p_days), 0) = 0 then
    delete from day_calendar where name = p_name;
  else
    insert into day_calendar (name, days) values (p_name, p_days) on conflict (name) do update set days = excluded.days;
  end if;
  -- Slots that were computed by the days before are computed again.
  perform from schedule_state t join schedule s on s.name = t.schedule where s.rule -> 'calendars' ? p_name
    order by t.schedule for update of t;
  update schedule_state t set next_slot = '-infinity', base_at = greatest(t.base_at, t.last_slot)
    from schedule s where s.name = t.schedule and s.rule -> 'calendars' ? p_name and t.next_slot > clock_now();
end $$;

-- calendar_check: a calendar as it may be set. Raises: MR001.
create or replace function calendar_check(p_key text, p_value jsonb) returns void
language plpgsql stable as $$
declare
  p jsonb;
begin
  if p_key = 'drainsAt' then
    perform calendar_part_check(p_key, p_value, '{times,days,zone}');
    if jsonb_typeof(p_value -> 'times') is distinct from 'array'
      or jsonb_array_length(p_value -> 'times') not between 1 and 100 then
      perform raise_error('MR001', 'drainsAt has no times',
        'give 1 to 100 times of day, such as {"times": ["18:00"], "zone": "Europe/Berlin"}');
    end if;
    perform time_of_day_check(p_key, t) from jsonb_array_elements(p_value -> 'times') t;
    return;
  end if;
  if jsonb_typeof(p_value) <> 'array' or jsonb_array_length(p_value) not between 1 and 100 then
    perform raise_error('MR001', 'blocked is not a list of periods',
      'give 1 to 100 of them, such as [{"from": "22:00", "to": "06:00", "zone": "Europe/Berlin"}]');
  end if;
  for p in select * from jsonb_array_elements(p_value) loop
    if jsonb_typeof(p) = 'object' and p ? 'until' then
      perform calendar_part_check(p_key, p || '{"zone": "UTC"}', '{from,until,zone}');
      perform moment_check(p -> 'from'), moment_check(p -> 'until');
      if (p ->> 'from')::timestamptz >= (p ->> 'until')::timestamptz then
        perform raise_error('MR001', format('a blocked period cannot last from %s until %s', p ->> 'from',
          p ->> 'until'), 'let it end after it begins');
      end if;
    else
      perform calendar_part_check(p_key, p, '{from,to,days,zone}');
      perform time_of_day_check(p_key, p -> 'from'), time_of_day_check(p_key, p -> 'to');
    end if;
  end loop;
  perform calendar_free(p_value, clock_now());
end $$;

-- calendar_part_check: the names, the zone and the days of one part of a calendar. Raises: MR001.
create or replace function calendar_part_check(p_key text, p jsonb, p_names text[]) returns void
language plpgsql stable as $$
declare
  v_unknown text;
begin
  if jsonb_typeof(p) <> 'object' then
    perform raise_error('MR001', format('%s is not an object', p_key), 'see docs/calendars.md');
  end if;
  select k into v_unknown from jsonb_object_keys(p) k where k <> all (p_names) limit 1;
  if v_unknown is not null then
    perform raise_error('MR001', format('%s has no "%s"', p_key, v_unknown),
      format('it may have %s', array_to_string(p_names, ', ')));
  elsif jsonb_typeof(p -> 'zone') is distinct from 'string'
    or not exists (select from pg_timezone_names z where z.name = p ->> 'zone') then
    perform raise_error('MR001', format('%s: there is no time zone %s', p_key, coalesce((p -> 'zone')::text, 'given')),
      'give a name such as "Europe/Berlin" or "UTC"');
  elsif p ? 'days' and (jsonb_typeof(p -> 'days') <> 'array' or p -> 'days' = '[]'
    or not p -> 'days' <@ '[1, 2, 3, 4, 5, 6, 7]') then
    perform raise_error('MR001', format('%s: days cannot be %s', p_key, p -> 'days'),
      'give a list of numbers from 1 (Monday) to 7 (Sunday)');
  end if;
end $$;

-- time_of_day_check, moment_check: "18:00", and a time with its zone or offset, so that it means the same to everybody.
-- Raise: MR001.
create or replace function time_of_day_check(p_key text, p_time jsonb) returns void
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_time) is distinct from 'string' or p_time #>> '{}' !~ '^([01][0-9]|2[0-3]):[0-5][0-9]$' then
    perform raise_error('MR001', format('%s: %s is not a time of day', p_key, coalesce(p_time::text, 'nothing')),
      'give hours and minutes, such as "06:00" or "18:30"');
  end if;
end $$;
