-- schedules_fire: make the slots that have come, and say which comes next. p_fires: an array of {"name", "revision", "expected": as schedules_due told them,
-- "slots": [{"atMs", "runAtMs", "late"}] to be made in their order, "nextMs": the next slot (null: none, and the schedule has finished, unless "awaitsEnd"),
-- "missed": {"slots", "fromMs"}, "wrong": why the rule cannot be read}. What was made or changed by somebody else meanwhile is left alone, so any number may race.
-- Returns how many were in time. Locks: schedule_state in the order of names. Writes: schedule_state, schedule_pending, schedule_event, schedule, and as schedules_advance.
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
  perform from schedule_state where schedule in (select f ->> 'name' from jsonb_array_elements(p_fires) f) order by schedule for update;
  v_names := array(select t.schedule from jsonb_array_elements(p_fires) f join schedule_state t on t.schedule = f ->> 'name'
                    where t.revision = (f -> 'revision')::int and t.next_slot = (f ->> 'expected')::timestamptz and not t.is_paused);
  v_runs := runs_open(v_names);
  if cardinality(v_runs) > 0 then
    perform runs_settle(v_runs);
    perform runs_give_way(runs_open(v_names));
    v_open := array(select r.schedule from unnest(runs_open(v_names)) r where r.kind in ('slot', 'late'));
  end if;
  -- What has just ended may have stopped its schedule.
  select jsonb_agg(f), array_agg(s.name) into v_fires, v_names from jsonb_array_elements(p_fires) f join schedule s on s.name = f ->> 'name' where s.name = any (v_names) and s.finished_at is null;
  if v_names is null then
    return 0;
  end if;
  v_waiting := array(select distinct p.schedule from schedule_pending p where p.schedule = any (v_names) and p.batch is null);

  with f as materialized (
    select x.*, s.options, coalesce(s.options ->> 'overlap', 'queue') as overlap, t.made, x.name = any (v_open) as is_open, x.name = any (v_waiting) as is_waiting
      from jsonb_to_recordset(v_fires) x (name text, slots jsonb, "nextMs" bigint, "awaitsEnd" boolean, missed jsonb, wrong text)
      join schedule s on s.name = x.name join schedule_state t on t.schedule = x.name
  ), slot as materialized (
    select f.name, ms_at(u."atMs") as at, ms_at(u."runAtMs") as run_at, coalesce(u.late, false) as late,
           f.overlap = 'skip' and f.is_open and not coalesce(u.late, false) or f.overlap = 'queue' and f.is_waiting and not coalesce(u.late, false) as is_skipped,
           row_number() over (partition by f.name order by u."atMs") + f.made > coalesce((f.options ->> 'maxRuns')::bigint, 9e18::bigint) as is_beyond
      from f cross join jsonb_to_recordset(f.slots) u ("atMs" bigint, "runAtMs" bigint, late boolean)
  ), pending as (
    insert into schedule_pending (schedule, slot_at, kind, run_at)
    select name, at, case when at < v_now - interval '1 minute' then 'late' else 'slot' end, run_at from slot where not is_skipped and not is_beyond on conflict do nothing
  ), told as (
    insert into schedule_event (at, schedule, event, slot_at, slots, because)
    select v_now, name, 'skipped', at, 1, 'the run before goes on' from slot where is_skipped
    union all
    select v_now, name, 'missed', ms_at((missed ->> 'fromMs')::bigint), (missed ->> 'slots')::int, null from f where missed is not null
    union all
    select v_now, name, 'wrong', null, null, wrong from f where wrong is not null
  ), made as (
    select f.name, count(s.name) filter (where not s.is_skipped and not s.is_beyond) as n, count(s.name) filter (where s.is_skipped) as skipped, max(s.at) as last_at
      from f left join slot s on s.name = f.name group by f.name
  )
  update schedule_state t
     set made = t.made + m.n, missed = t.missed + m.skipped + coalesce((f.missed ->> 'slots')::int, 0), last_slot = greatest(t.last_slot, m.last_at), next_try_at = null,
         base_at = greatest(t.base_at, m.last_at), awaits_end = coalesce(f."awaitsEnd", false) and m.n > 0,
         next_slot = case when t.made + m.n < coalesce((f.options ->> 'maxRuns')::bigint, 9e18::bigint) then ms_at(f."nextMs") end,
         error = case when f.wrong is not null then json_build_object('message', f.wrong) when t.next_try_at is null then t.error end,
         failed_runs = t.failed_runs + case when f.wrong is null then 0 else 1 end
    from f join made m on m.name = f.name
   where t.schedule = f.name;

  update schedule s set finished_at = v_now, finished_because = case when (s.options ->> 'maxRuns')::bigint <= t.made then 'maxRuns' else 'no more slots' end
    from schedule_state t where s.name = any (v_names) and t.schedule = s.name and t.next_slot is null and not t.awaits_end and s.finished_at is null
     and not exists (select from jsonb_array_elements(v_fires) f where f ->> 'name' = s.name and f ->> 'wrong' is not null);
  perform schedules_advance(v_names);
  return cardinality(v_names);
end $$;

-- runs_open: the open runs of some schedules, by as many looks into the index.
create or replace function runs_open(p_names text[]) returns schedule_run[]
language plpgsql as $$
begin
  return array(select r.run from unnest(p_names) n (name) cross join lateral (select u as run from schedule_run u where u.schedule = n.name and u.outcome is null order by u.job_id) r);
end $$;

-- runs_give_way: where the next slot has come, a run that waits to be tried again has had its time; with overlap "cancel" any open one has. Writes: as job_cancel and runs_settle.
create or replace function runs_give_way(p_runs schedule_run[]) returns void
language plpgsql as $$
declare
  v_runs schedule_run[];
begin
  v_runs := array(
    select r from unnest(p_runs) r join schedule s on s.name = r.schedule
     where r.kind in ('slot', 'late') and coalesce(s.options ->> 'overlap', 'queue') <> 'allow'
       and (s.options ->> 'overlap' = 'cancel' or exists (select from job_attempt a where a.slot = job_slot(r.job_id) and a.job_id = r.job_id) and job_state(r.job_id) = 'delayed'));
  if cardinality(v_runs) > 0 then
    perform job_cancel(array(select r.job_id from unnest(v_runs) r order by 1), 'the next slot of its schedule has come');
    perform runs_settle(v_runs);
  end if;
end $$;

-- schedules_advance: make the jobs of slots whose time has come, as far as their schedules allow: those asked for by hand at once, those of a batch as many as may run at once,
-- others one after another, or all when they may overlap; of one that is paused only those asked for by hand. Returns how many. The caller holds the rows of schedule_state. Writes: schedule_pending, schedule_run, schedule_state, and as job_enqueue_many.
create or replace function schedules_advance(p_names text[]) returns int
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_chosen schedule_pending[];
  v_inputs json;
  v_options json;
begin
  select array_agg(x.p order by x.name, x.slot_at), json_agg(x.input order by x.name, x.slot_at), json_agg(x.job order by x.name, x.slot_at) into v_chosen, v_inputs, v_options from (
    select p, s.name, p.slot_at, s.input,
           s.job - 'deadlineSeconds' || case when s.options -> 'afterFailure' = '"skip"' then '{"maxAttempts": 1}' else '{}'::jsonb end
           || jsonb_build_object('schedule', s.name, 'slotAt', p.slot_at)
           || case when p.run_at > v_now then jsonb_build_object('runAt', p.run_at) else '{}' end
           || case when s.job ? 'deadlineSeconds' then jsonb_build_object('deadline', greatest(coalesce(p.run_at, p.slot_at), v_now) + make_interval(secs => (s.job ->> 'deadlineSeconds')::float8)) else '{}' end as job,
           row_number() over (partition by p.schedule, p.batch, p.kind = 'manual' order by p.slot_at) as n, p.kind, p.batch, p.concurrency, coalesce(s.options ->> 'overlap', 'queue') as overlap, o.live, o.beside
      from schedule_pending p join schedule s on s.name = p.schedule
      cross join lateral (select count(*) filter (where r.batch is null and r.kind <> 'manual') as live, count(*) filter (where r.batch = p.batch) as beside
                            from schedule_run r where r.schedule = p.schedule and r.outcome is null) o
     where p.schedule = any (p_names) and (s.paused_at is null or p.kind = 'manual')) x
   where x.kind = 'manual' or x.batch is not null and x.n <= x.concurrency - x.beside or x.batch is null and (x.overlap = 'allow' or x.n = 1 and x.live = 0);
  if v_chosen is null then
    return 0;
  end if;
  perform job_enqueue_many(v_inputs, v_options);
  delete from schedule_pending p using unnest(v_chosen) c where p.schedule = c.schedule and p.slot_at = c.slot_at;
  perform queue_notify(array(select distinct coalesce(s.job ->> 'queue', 'default') from unnest(v_chosen) c join schedule s on s.name = c.schedule));
  update schedule_run r set kind = c.kind, batch = c.batch from unnest(v_chosen) c where c.kind <> 'slot' and r.schedule = c.schedule and r.slot_at = c.slot_at;
  return cardinality(v_chosen);
end $$;

-- schedules_go_on: as schedules_advance, for those who came to do something else: a queue that takes no jobs at the moment is told where it shows, and holds up nobody. Its slots are tried again with the next one.
create or replace function schedules_go_on(p_names text[]) returns void
language plpgsql as $$
declare
  v_name text;
begin
  perform schedules_advance(p_names);
exception when sqlstate 'MR000' then  -- any refusal of ours
  foreach v_name in array p_names loop
    begin
      perform schedules_advance(array[v_name]);
    exception when sqlstate 'MR000' then
      update schedule_state set error = json_build_object('message', sqlerrm) where schedule = v_name;
    end;
  end loop;
end $$;

-- schedules_hold: making a run of a schedule failed, as when its queue is full or finished: say so, and try again later. Writes: schedule_state.
create or replace function schedules_hold(p_name text, p_revision int, p_seconds float8, p_error json) returns void
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
begin
  update schedule_state set next_try_at = clock_now() + make_interval(secs => p_seconds), error = p_error where schedule = p_name and revision = p_revision;
end $$;

-- schedule_trigger: run a schedule now, beside whatever runs of it. Returns the job. Locks: the schedule's state. Writes: as schedules_advance. Raises: MR016, and as job_enqueue_many.
create or replace function schedule_trigger(p_name text, p_by text default null, p_because text default null) returns bigint
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_slot timestamptz := date_trunc('milliseconds', clock_now());
begin
  perform schedule_must_exist(p_name);
  while exists (select from schedule_run where schedule = p_name and slot_at = v_slot) or exists (select from schedule_pending where schedule = p_name and slot_at = v_slot) loop
    v_slot := v_slot + interval '1 ms';
  end loop;
  insert into schedule_pending (schedule, slot_at, kind) values (p_name, v_slot, 'manual');
  perform schedules_advance(array[p_name]), schedule_event_add(p_name, 'triggered', v_slot, 1, p_by, p_because);
  return (select job_id from schedule_run where schedule = p_name and slot_at = v_slot);
end $$;

-- schedule_backfill: make runs for past slots, p_concurrency of them at once. Slots that have a run are left out. Returns how many there will be. Locks: the schedule's state.
-- Writes: as schedules_advance. Raises: MR001, MR016.
create or replace function schedule_backfill(p_name text, p_slots_ms bigint[], p_concurrency int default 1, p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_batch bigint := nextval('schedule_batch_seq');
  v_slots int;
begin
  perform schedule_must_exist(p_name);
  if p_concurrency is null or p_concurrency not between 1 and 1000 then
    perform raise_error('MR001', format('a concurrency of %s is not possible', p_concurrency), 'give 1 to 1,000');
  elsif cardinality(p_slots_ms) > 10000 then
    perform raise_error('MR001', 'a backfill has up to 10,000 slots', 'give a shorter range');
  elsif exists (select from unnest(p_slots_ms) ms where ms is null or ms_at(ms) > clock_now()) then
    perform raise_error('MR001', 'a backfill is of the past', 'let the range end by now');
  end if;
  insert into schedule_pending (schedule, slot_at, kind, batch, concurrency)
  select p_name, ms_at(ms), 'backfill', v_batch, p_concurrency from unnest(p_slots_ms) ms
   where not exists (select from schedule_run r where r.schedule = p_name and r.slot_at = ms_at(ms)) on conflict do nothing;
  get diagnostics v_slots = row_count;
  if v_slots > 0 then
    perform schedules_advance(array[p_name]), schedule_event_add(p_name, 'backfill', p_slots => v_slots, p_by => p_by, p_because => p_because);
  end if;
  return v_slots;
end $$;
