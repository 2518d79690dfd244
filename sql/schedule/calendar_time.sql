-- calendar_time: when a job runs in a queue that has a calendar (drainsAt, blocked). p_at: the time it asks for, null
-- when it does not. One that asks for none gets the next slot; a time in a blocked period, be it now, becomes the end
-- of the period.
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

-- calendar_slot: the next time of day at which a queue drains, p_from included; null without a calendar. From yesterday
-- on, whose times may have been left out until now, to the day after tomorrow, because clocks that go back over
-- midnight may have shown all of tomorrow's before; a week later where there are days without.
create or replace function calendar_slot(p_drains jsonb, p_from timestamptz) returns timestamptz
language plpgsql stable strict as $$
declare
  v_zone constant text := p_drains ->> 'zone';
  v_today constant date := p_from at time zone v_zone;
  v_days constant jsonb := p_drains -> 'days';
begin
  return (select min(s.at)
    from generate_series(-1, case when v_days is null then 2 else 9 end) n
    cross join jsonb_array_elements_text(p_drains -> 'times') t (of_day)
    cross join lateral (select wall_instant(v_today + n + t.of_day::time, v_zone) as at) s
   where (v_days is null or v_days @> to_jsonb(date_part('isodow', v_today + n)::int)) and s.at >= p_from);
end $$;

-- calendar_free: the first time from p_from on that is in no blocked period; periods that follow or overlap each other
-- are one. Those with a time of day come again on each of their days (the one on which they begin), and end on the next
-- when they end no later than they begin. Raises: MR001 when there is none within 1,000 periods.
create or replace function calendar_free(p_blocked jsonb, p_from timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_at timestamptz := p_from;
  v_end timestamptz;
begin
  for i in 1 .. 1000 loop
    select max(x.until) into v_end from (
      select (b.p ->> 'from')::timestamptz as since, (b.p ->> 'until')::timestamptz as until
        from jsonb_array_elements(p_blocked) b (p) where b.p ? 'until'
      union all
      select wall_instant(y.day + t.since, b.p ->> 'zone'),
        wall_instant(y.day + case when t.until <= t.since then 1 else 0 end + t.until, b.p ->> 'zone')
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

-- wall_instant: when the clocks of a zone show a time, by the rule that schedules have too (docs/schedules.md, "Time
-- zones and clock changes"): a time that is left out is the moment in which they jump over it, one that comes twice is
-- the first. So an order of times stays an order, and each happens once. PostgreSQL alone takes what is left out as so
-- much later, and of two the second.
-- Inlined, for times that no change is near: the clocks show them, and showed the same a day before.
create or replace function wall_instant(p_wall timestamp, p_zone text) returns timestamptz
language sql stable parallel safe as $$
  select case when (p_wall at time zone p_zone) at time zone p_zone = p_wall
      and ((p_wall at time zone p_zone) - interval '24 hours') at time zone p_zone = p_wall - interval '24 hours'
    then p_wall at time zone p_zone else wall_instant_changed(p_wall, p_zone) end
$$;

create or replace function wall_instant_changed(p_wall timestamp, p_zone text) returns timestamptz
language plpgsql stable strict as $$
declare
  v_at constant timestamptz := p_wall at time zone p_zone;
  v_day_ago constant timestamptz := v_at - interval '24 hours';
  v_gap constant bigint := extract(epoch from (v_at at time zone p_zone) - p_wall);  -- seconds that were left out
  v_first timestamptz;
  v_low bigint := 0;  -- seconds before v_at at which the clocks have jumped
  v_high bigint := v_gap;  -- at which they have not
  v_middle bigint;
begin
  if v_gap = 0 then
    -- No clocks change twice within a day, so by how much they were ahead a day ago is what they were before a change.
    v_first := (p_wall - ((v_day_ago at time zone p_zone) - (v_day_ago at time zone 'UTC'))) at time zone 'UTC';
    return case when v_first < v_at and v_first at time zone p_zone = p_wall then v_first else v_at end;
  end if;
  while v_high - v_low > 1 loop  -- clocks jump on whole seconds
    v_middle := (v_low + v_high) / 2;
    if (v_at - make_interval(secs => v_middle)) at time zone p_zone > p_wall then
      v_low := v_middle;
    else
      v_high := v_middle;
    end if;
  end loop;
  return v_at - make_interval(secs => v_low);
end $$;
