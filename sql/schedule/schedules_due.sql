-- schedules_due: which slots are to be made. One process at a time has this duty, p_holder, for p_lease_seconds from
-- its last call; nothing depends on there being one only. Returns {"idle": true} when there are no schedules,
-- {"heldForSeconds"} when another has the duty, else {"nowMs", "due", "inSeconds": until the next slot}; of each that
-- is due its name, revision, rule, options, whether no run was made yet, what must still be so when it is made
-- ("expected"), and in milliseconds its slot (null: to be computed, as the first after base), base and creation.
-- Locks: the duty's row (skipped when taken). Writes: duty.
create or replace function schedules_due(p_holder text, p_lease_seconds float8 default 10, p_limit int default 500)
  returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_until timestamptz;
begin
  if p_holder is null or not p_lease_seconds between 0.1 and 3600 or p_limit not between 1 and 10000 then
    perform raise_error('MR001', 'a holder, a lease of 0.1 to 3600 seconds and a limit of 1 to 10000 are needed', null);
  end if;
  if not exists (select from schedule) then
    return '{"idle": true}';
  end if;
  perform from duty where name = 'schedule' and (holder = p_holder or until <= v_now) for update skip locked;
  if not found then
    select d.until into v_until from duty d where d.name = 'schedule';
    return json_build_object('heldForSeconds', greatest(0.1, date_part('epoch', greatest(v_until, v_now) - v_now)));
  end if;
  update duty set holder = p_holder, until = v_now + make_interval(secs => p_lease_seconds), done_at = v_now
   where name = 'schedule';
  return (
    with due as materialized (
      select t.* from schedule_state t
       where t.next_slot <= v_now and not t.is_paused and (t.next_try_at is null or t.next_try_at <= v_now)
       order by t.next_slot limit p_limit
    )
    select json_build_object(
             'nowMs', at_ms(v_now),
             'inSeconds', (select date_part('epoch', min(t.next_slot) - v_now) from schedule_state t
                            where t.next_slot > v_now and t.next_slot < 'infinity' and not t.is_paused),
             'due', coalesce(json_agg(json_build_object(
               'name', s.name, 'revision', t.revision, 'rule', s.rule, 'options', s.options,
               'expected', t.next_slot::text,
               'slotMs', case when isfinite(t.next_slot) then at_ms(t.next_slot) end, 'baseMs', at_ms(t.base_at),
               'isFirst', t.made = 0, 'createdMs', at_ms(s.created_at),
               'blocked', (select json_agg(d.day) from day_calendar c
                             cross join unnest(c.days) d (day)
                            where s.rule -> 'calendars' ? c.name))
               order by t.next_slot), '[]'))
      from due t
      join schedule s on s.name = t.schedule);
end $$;

-- at_ms, ms_at: a time in milliseconds since 1970, as programs count it, and back.
create or replace function at_ms(p_at timestamptz) returns bigint
language sql immutable strict as $$ select floor(extract(epoch from p_at) * 1000)::bigint $$;

create or replace function ms_at(p_ms bigint) returns timestamptz
language sql immutable strict as $$ select timestamptz '1970-01-01 00:00Z' + p_ms * interval '1 ms' $$;
