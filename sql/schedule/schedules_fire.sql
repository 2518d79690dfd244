-- schedules_fire: make the slots that have come, and say which comes next. p_fires: an array of {"name", "revision",
-- "expected": as schedules_due told them, "slots": [{"atMs", "runAtMs", "late"}] to be made in their order, "nextMs":
-- the next slot (null: none, and the schedule has finished, unless "awaitsEnd"), "missed": {"slots", "fromMs"},
-- "wrong": why the rule cannot be read}. What was made or changed by somebody else meanwhile is left alone, so any
-- number may race. Returns how many were in time. Locks: schedule_state in the order of names. Writes: schedule_state,
-- schedule_pending, schedule_event, schedule, and as schedules_advance.
create or replace function schedules_fire(p_fires jsonb) returns int
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_fires jsonb;
  v_names text[];
  v_runs schedule_run[];
  v_open text[] := '{}';
  v_waiting text[];
begin
  perform from schedule_state
   where schedule in (select f ->> 'name' from jsonb_array_elements(p_fires) f)
   order by schedule for update;
  v_names := array(select t.schedule from jsonb_array_elements(p_fires) f
                     join schedule_state t on t.schedule = f ->> 'name'
                    where t.revision = (f -> 'revision')::int
                      and t.next_slot = (f ->> 'expected')::timestamptz
                      and not t.is_paused);
  v_runs := runs_open(v_names);
  if cardinality(v_runs) > 0 then
    perform runs_settle(v_runs);
    perform runs_give_way(runs_open(v_names));
    v_open := array(select r.schedule from unnest(runs_open(v_names)) r where r.kind in ('slot', 'late'));
  end if;
  -- What has just ended may have stopped its schedule.
  select jsonb_agg(f), array_agg(s.name) into v_fires, v_names
    from jsonb_array_elements(p_fires) f
    join schedule s on s.name = f ->> 'name'
   where s.name = any (v_names) and s.finished_at is null;
  if v_names is null then
    return 0;
  end if;
  v_waiting := array(select distinct p.schedule from schedule_pending p
                      where p.schedule = any (v_names) and p.batch is null);

  with f as materialized (
    select x.*, s.options, coalesce(s.options ->> 'overlap', 'queue') as overlap, t.made,
           x.name = any (v_open) as is_open, x.name = any (v_waiting) as is_waiting
      from jsonb_to_recordset(v_fires) x (name text, slots jsonb, "nextMs" bigint, "awaitsEnd" boolean, missed jsonb,
                                          wrong text)
      join schedule s on s.name = x.name join schedule_state t on t.schedule = x.name
  ), slot as materialized (
    select f.name, ms_at(u."atMs") as at, ms_at(u."runAtMs") as run_at, coalesce(u.late, false) as late,
           f.overlap = 'skip' and f.is_open and not coalesce(u.late, false)
             or f.overlap = 'queue' and f.is_waiting and not coalesce(u.late, false) as is_skipped,
           row_number() over (partition by f.name order by u."atMs") + f.made
             > coalesce((f.options ->> 'maxRuns')::bigint, 9e18::bigint) as is_beyond
      from f cross join jsonb_to_recordset(f.slots) u ("atMs" bigint, "runAtMs" bigint, late boolean)
  ), pending as (
    insert into schedule_pending (schedule, slot_at, kind, run_at)
    select name, at, case when at < v_now - interval '1 minute' then 'late' else 'slot' end, run_at
      from slot
     where not is_skipped and not is_beyond
    on conflict do nothing
  ), told as (
    insert into schedule_event (at, schedule, event, slot_at, slots, because)
    select v_now, name, 'skipped', at, 1, 'the run before goes on' from slot where is_skipped
    union all
    select v_now, name, 'missed', ms_at((missed ->> 'fromMs')::bigint), (missed ->> 'slots')::int, null
      from f
     where missed is not null
    union all
    select v_now, name, 'wrong', null, null, wrong from f where wrong is not null
  ), made as (
    select f.name, count(s.name) filter (where not s.is_skipped and not s.is_beyond) as n,
           count(s.name) filter (where s.is_skipped) as skipped, max(s.at) as last_at
      from f left join slot s on s.name = f.name group by f.name
  )
  update schedule_state t
     set made = t.made + m.n, missed = t.missed + m.skipped + coalesce((f.missed ->> 'slots')::int, 0),
         last_slot = greatest(t.last_slot, m.last_at), next_try_at = null,
         base_at = greatest(t.base_at, m.last_at), awaits_end = coalesce(f."awaitsEnd", false) and m.n > 0,
         next_slot = case when t.made + m.n < coalesce((f.options ->> 'maxRuns')::bigint, 9e18::bigint)
                          then ms_at(f."nextMs") end,
         error = case when f.wrong is not null then json_build_object('message', f.wrong)
                      when t.next_try_at is null then t.error end,
         failed_runs = t.failed_runs + case when f.wrong is null then 0 else 1 end
    from f join made m on m.name = f.name
   where t.schedule = f.name;

  update schedule s set finished_at = v_now,
         finished_because = case when (s.options ->> 'maxRuns')::bigint <= t.made then 'maxRuns'
                                 else 'no more slots' end
    from schedule_state t
   where s.name = any (v_names)
     and t.schedule = s.name
     and t.next_slot is null
     and not t.awaits_end
     and s.finished_at is null
     and not exists (select from jsonb_array_elements(v_fires) f
                      where f ->> 'name' = s.name and f ->> 'wrong' is not null);
  perform schedules_advance(v_names);
  return cardinality(v_names);
end $$;
