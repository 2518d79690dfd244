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

-- calendar_slot: the next time of day at which a queue drains, p_from included; null without a calendar. Times of day
-- are of their zone, so they stay what they are when its clocks change; one that is left out that day is an hour later,
-- one that comes twice is the second.
create or replace function calendar_slot(p_drains jsonb, p_from timestamptz) returns timestamptz
language sql stable strict as $$
  select min(s.at)
    from generate_series(-1, 8) d
    cross join jsonb_array_elements_text(p_drains -> 'times') t (of_day)
    cross join lateral (select (p_from at time zone (p_drains ->> 'zone'))::date + d as day) y
    cross join lateral (select (y.day + t.of_day::time) at time zone (p_drains ->> 'zone') as at) s
   where s.at >= p_from and (p_drains -> 'days' is null or p_drains
     -> 'days' @> to_jsonb(date_part('isodow', y.day)::int))
$$;

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
      select (y.day + t.since) at time zone (b.p ->> 'zone'),
        (y.day + case when t.until <= t.since then 1 else 0 end + t.until) at time zone (b.p ->> 'zone')
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
