-- calendar_time: when a job runs in a queue that has a calendar (drainsAt, blocked). p_at: the time it asks for, null when it does not.
-- One that asks for none gets the next slot; a time in a blocked period, be it now, becomes the end of the period.
create or replace function calendar_time(p_options jsonb, p_at timestamptz, p_now timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_at constant timestamptz := coalesce(p_at, calendar_slot(p_options -> 'drainsAt', p_now), p_now);
  v_from constant timestamptz := greatest(v_at, p_now);
  v_free timestamptz;
begin
  if p_options -> 'blocked' is null or not isfinite(v_from) then
    return v_at;
  end if;
  v_free := calendar_free(p_options -> 'blocked', v_from);
  return case when v_free > v_from then v_free else v_at end;
end $$;

-- calendar_slot: the next time of day at which a queue drains, p_from included; null without a calendar. Times of day are of their zone, so they stay what they are when its
-- clocks change; one that is left out that day is an hour later, one that comes twice is the second.
create or replace function calendar_slot(p_drains jsonb, p_from timestamptz) returns timestamptz
language sql stable strict as $$
  select min(s.at)
    from generate_series(-1, 8) d
    cross join jsonb_array_elements_text(p_drains -> 'times') t (of_day)
    cross join lateral (select (p_from at time zone (p_drains ->> 'zone'))::date + d as day) y
    cross join lateral (select (y.day + t.of_day::time) at time zone (p_drains ->> 'zone') as at) s
   where s.at >= p_from and (p_drains -> 'days' is null or p_drains -> 'days' @> to_jsonb(date_part('isodow', y.day)::int))
$$;

-- calendar_free: the first time from p_from on that is in no blocked period; periods that follow or overlap each other are one. Those with a time of day come again on each
-- of their days (the one on which they begin), and end on the next when they end no later than they begin. Raises: MR001 when there is none within 1,000 periods.
create or replace function calendar_free(p_blocked jsonb, p_from timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_at timestamptz := p_from;
  v_end timestamptz;
begin
  for i in 1 .. 1000 loop
    select max(x.until) into v_end from (
      select (b.p ->> 'from')::timestamptz as since, (b.p ->> 'until')::timestamptz as until from jsonb_array_elements(p_blocked) b (p) where b.p ? 'until'
      union all
      select (y.day + t.since) at time zone (b.p ->> 'zone'), (y.day + case when t.until <= t.since then 1 else 0 end + t.until) at time zone (b.p ->> 'zone')
        from jsonb_array_elements(p_blocked) b (p)
        cross join generate_series(-2, 1) d
        cross join lateral (select (v_at at time zone (b.p ->> 'zone'))::date + d as day) y
        cross join lateral (select (b.p ->> 'from')::time as since, (b.p ->> 'to')::time as until) t
       where b.p ? 'to' and (b.p -> 'days' is null or b.p -> 'days' @> to_jsonb(date_part('isodow', y.day)::int))) x
     where x.since <= v_at and x.until > v_at;
    if v_end is null then
      return v_at;
    end if;
    v_at := v_end;
  end loop;
  perform raise_error('MR001', 'the blocked periods leave no time to run', 'leave a gap between them');
end $$;

-- calendar_check: a calendar as it may be set. Raises: MR001.
create or replace function calendar_check(p_key text, p_value jsonb) returns void
language plpgsql stable as $$
declare
  p jsonb;
begin
  if p_key = 'drainsAt' then
    perform calendar_part_check(p_key, p_value, '{times,days,zone}');
    if jsonb_typeof(p_value -> 'times') is distinct from 'array' or jsonb_array_length(p_value -> 'times') not between 1 and 100 then
      perform raise_error('MR001', 'drainsAt has no times', 'give 1 to 100 times of day, such as {"times": ["18:00"], "zone": "Europe/Berlin"}');
    end if;
    perform time_of_day_check(p_key, t) from jsonb_array_elements(p_value -> 'times') t;
    return;
  end if;
  if jsonb_typeof(p_value) <> 'array' or jsonb_array_length(p_value) not between 1 and 100 then
    perform raise_error('MR001', 'blocked is not a list of periods', 'give 1 to 100 of them, such as [{"from": "22:00", "to": "06:00", "zone": "Europe/Berlin"}]');
  end if;
  for p in select * from jsonb_array_elements(p_value) loop
    if jsonb_typeof(p) = 'object' and p ? 'until' then
      perform calendar_part_check(p_key, p || '{"zone": "UTC"}', '{from,until,zone}');
      perform moment_check(p -> 'from'), moment_check(p -> 'until');
      if (p ->> 'from')::timestamptz >= (p ->> 'until')::timestamptz then
        perform raise_error('MR001', format('a blocked period cannot last from %s until %s', p ->> 'from', p ->> 'until'), 'let it end after it begins');
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
    perform raise_error('MR001', format('%s has no "%s"', p_key, v_unknown), format('it may have %s', array_to_string(p_names, ', ')));
  elsif jsonb_typeof(p -> 'zone') is distinct from 'string' or not exists (select from pg_timezone_names z where z.name = p ->> 'zone') then
    perform raise_error('MR001', format('%s: there is no time zone %s', p_key, coalesce((p -> 'zone')::text, 'given')), 'give a name such as "Europe/Berlin" or "UTC"');
  elsif p ? 'days' and (jsonb_typeof(p -> 'days') <> 'array' or p -> 'days' = '[]' or not p -> 'days' <@ '[1, 2, 3, 4, 5, 6, 7]') then
    perform raise_error('MR001', format('%s: days cannot be %s', p_key, p -> 'days'), 'give a list of numbers from 1 (Monday) to 7 (Sunday)');
  end if;
end $$;

-- time_of_day_check, moment_check: "18:00", and a time with its zone or offset, so that it means the same to everybody. Raise: MR001.
create or replace function time_of_day_check(p_key text, p_time jsonb) returns void
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_time) is distinct from 'string' or p_time #>> '{}' !~ '^([01][0-9]|2[0-3]):[0-5][0-9]$' then
    perform raise_error('MR001', format('%s: %s is not a time of day', p_key, coalesce(p_time::text, 'nothing')), 'give hours and minutes, such as "06:00" or "18:30"');
  end if;
end $$;

create or replace function moment_check(p_time jsonb) returns void
language plpgsql stable as $$
begin
  if jsonb_typeof(p_time) is distinct from 'string' or p_time #>> '{}' !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})$' then
    perform raise_error('MR001', format('blocked: %s is not a time', coalesce(p_time::text, 'nothing')), 'give it with its offset, such as "2026-12-24T00:00:00Z"');
  end if;
  perform (p_time #>> '{}')::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format then
  perform raise_error('MR001', format('blocked: %s is not a time', p_time), 'give it with its offset, such as "2026-12-24T00:00:00Z"');
end $$;
