-- schedule_put: declare recurring work. p_rule, p_options: docs/schedules.md; p_job: a type and options as for job_enqueue, deadlineSeconds (from the slot) instead of deadline.
-- Returns {"change": "created" | "changed" | "unchanged" | "older", "was": what it was before, "declaredBy", "declaredAt": by whom, when that was other than p_by}. A change never loses or
-- repeats a slot: one that is due is still made, the next is the first of the new rule after now.
-- p_version: a declaration with one that is lower than the stored one is older, and changes nothing. Locks: the schedule's state, then its row. Writes: schedule, schedule_state, schedule_event. Raises: MR001, MR003.
create or replace function schedule_put(p_name text, p_rule jsonb, p_job jsonb, p_input json default null, p_options jsonb default '{}', p_by text default null,
  p_app text default null, p_version int default null) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  s schedule;
  v_was json;
begin
  perform schedule_check(p_name, p_rule, p_job, p_options), json_check('input', p_input, bound('inputBytes'));
  insert into schedule (name, rule, job, input, options, version, app, declared_by, declared_at, created_at, changed_at)
  values (p_name, p_rule, p_job, p_input, p_options, p_version, p_app, p_by, v_now, v_now, v_now) on conflict do nothing;
  if found then
    insert into schedule_state (schedule, revision, next_slot, base_at) values (p_name, 1, '-infinity', v_now);
    perform schedule_event_add(p_name, 'created', p_by => p_by);
    return json_build_object('change', 'created');
  end if;
  perform from schedule_state where schedule = p_name for update;
  select * into s from schedule where name = p_name for update;
  v_was := json_build_object('rule', s.rule, 'job', s.job, 'input', s.input, 'options', s.options, 'declaredBy', s.declared_by, 'declaredAt', s.declared_at);
  if s.version > coalesce(p_version, 0) then
    return json_build_object('change', 'older', 'was', v_was);
  end if;
  update schedule set version = p_version, app = p_app, declared_by = p_by, declared_at = v_now where name = p_name;
  if (s.rule, s.job, s.input::jsonb, s.options) is not distinct from (p_rule, p_job, p_input::jsonb, p_options) then
    return json_build_object('change', 'unchanged', 'was', v_was);
  end if;
  update schedule set rule = p_rule, job = p_job, input = p_input, options = p_options, revision = revision + 1, changed_at = v_now, finished_at = null, finished_because = null where name = p_name;
  update schedule_state t
     set revision = s.revision + 1, next_try_at = null, awaits_end = t.awaits_end and p_rule ? 'after',
         next_slot = case when s.rule = p_rule and s.finished_at is null or isfinite(t.next_slot) and t.next_slot <= v_now or t.awaits_end and p_rule ? 'after' then t.next_slot else '-infinity' end,
         base_at = case when s.rule = p_rule and s.finished_at is null then t.base_at else greatest(v_now, t.last_slot) end
   where t.schedule = p_name;
  perform schedule_event_add(p_name, 'changed', p_by => p_by);
  return json_build_object('change', 'changed', 'was', v_was);
end $$;

-- schedule_remove: forget a schedule and what it has not started yet; jobs it made go on, and its runs are kept, so that one declared again repeats no slot. Raises: MR016.
create or replace function schedule_remove(p_name text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  delete from schedule where name = p_name;
  perform schedule_event_add(p_name, 'removed', p_by => p_by, p_because => p_because);
end $$;

-- schedule_pause, schedule_resume: make no runs for a while. What came meanwhile is left out, unless it is to be made up for by the schedule's own rule for missed runs.
-- One that stopped by itself, because of failed runs or a cancelled one, is resumed too. Pausing again changes who and why. Raises: MR016, and MR001 to resume what is not paused.
create or replace function schedule_pause(p_name text, p_by text default null, p_because text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  update schedule set paused_at = coalesce(paused_at, clock_now()), paused_by = p_by, paused_because = p_because where name = p_name;
  update schedule_state set is_paused = true where schedule = p_name;
  perform schedule_event_add(p_name, 'paused', p_by => p_by, p_because => p_because);
end $$;

create or replace function schedule_resume(p_name text, p_by text default null, p_because text default null, p_catch_up boolean default false) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform schedule_must_exist(p_name);
  update schedule set paused_at = null, paused_by = null, paused_because = null, finished_at = null, finished_because = null
   where name = p_name and (paused_at is not null or finished_because in ('cancelled', 'failed runs'));
  if not found then
    perform raise_error('MR001', format('schedule "%s" is not paused', p_name), 'what is paused, and since when, is in the view "schedules"');
  end if;
  update schedule_state t set is_paused = false, failed_runs = 0, next_slot = case when x.goes_on then t.next_slot else '-infinity' end, base_at = case when x.goes_on then t.base_at else clock_now() end
    from (select p_catch_up and next_slot is not null or next_slot > clock_now() or awaits_end as goes_on from schedule_state where schedule = p_name) x
   where t.schedule = p_name;
  perform schedule_event_add(p_name, 'resumed', p_by => p_by, p_because => p_because), schedules_go_on(array[p_name]);
end $$;

-- calendar_put: name days on which schedules that name the calendar make no run; none: forget it. Raises: MR001.
create or replace function calendar_put(p_name text, p_days date[]) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  if coalesce(name_check('calendar', p_name), '') = '' or array_position(p_days, null) is not null or cardinality(p_days) > 10000 then
    perform raise_error('MR001', 'a calendar has a name, and 1 to 10,000 days', 'give days such as 2026-12-25');
  end if;
  if coalesce(cardinality(p_days), 0) = 0 then
    delete from day_calendar where name = p_name;
  else
    insert into day_calendar (name, days) values (p_name, p_days) on conflict (name) do update set days = excluded.days;
  end if;
  -- Slots that were computed by the days before are computed again.
  perform from schedule_state t join schedule s on s.name = t.schedule where s.rule -> 'calendars' ? p_name order by t.schedule for update of t;
  update schedule_state t set next_slot = '-infinity', base_at = greatest(t.base_at, t.last_slot)
    from schedule s where s.name = t.schedule and s.rule -> 'calendars' ? p_name and t.next_slot > clock_now();
end $$;

-- schedules_undeclared: schedules of an application other than these.
create or replace function schedules_undeclared(p_app text, p_names text[]) returns setof text
language sql stable security definer set search_path from current set jit = off as $$
  select name from schedule where app = p_app and name <> all (p_names) order by name limit 1000
$$;

-- schedule_check: what can be said of a schedule without knowing time. Its rule is read when the first slot is computed; the client reads it before. Raises: MR001, MR003.
create or replace function schedule_check(p_name text, p_rule jsonb, p_job jsonb, p_options jsonb) returns void
language plpgsql stable as $$
declare
  v_kinds constant text[] := '{cron,every,after,rrule,times,at}';
  v_unknown text;
begin
  if coalesce(name_check('schedule', p_name), '') = '' then
    perform raise_error('MR001', 'a schedule needs a name', 'give 1 to 200 characters');
  elsif jsonb_typeof(p_rule) is distinct from 'object' or (select count(*) from jsonb_object_keys(p_rule) k where k = any (v_kinds)) <> 1 then
    perform raise_error('MR001', format('the rule of schedule "%s" does not say when to run', p_name), 'give one of ' || array_to_string(v_kinds, ', '));
  elsif jsonb_typeof(p_job) is distinct from 'object' or jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'job and options of a schedule are objects', 'give JSON objects');
  elsif octet_length(p_rule::text) + octet_length(p_job::text) + octet_length(p_options::text) > bound('optionsBytes') then
    perform raise_error('MR004', format('rule, job and options have more than %s bytes together', bound('optionsBytes')), 'give fewer times, or a rule that says the same');
  end if;
  select k into v_unknown from jsonb_object_keys(p_options) k where k <> all ('{overlap,missed,afterFailure,maxRuns,keepRuns,cancelStops}') limit 1;
  if v_unknown is not null then
    perform raise_error('MR001', format('unknown option "%s" of a schedule', v_unknown), 'see the table of options in docs/schedules.md');
  end if;
  select k into v_unknown from jsonb_object_keys(p_job) k where k in ('runAt', 'delaySeconds', 'expiresAt', 'deadline', 'schedule', 'slotAt', 'stage') limit 1;
  if v_unknown is not null then
    perform raise_error('MR001', format('a scheduled job cannot have "%s"', v_unknown), 'its slot decides; give ttlSeconds or deadlineSeconds to count from there');
  end if;
  if p_options ->> 'overlap' not in ('queue', 'skip', 'allow', 'cancel') then
    perform raise_error('MR001', format('unknown overlap "%s"', p_options ->> 'overlap'), 'use queue, skip, allow or cancel');
  elsif not coalesce(p_options -> 'missed' in ('"last"', '"none"') or count_check(p_options #> '{missed,all}', 10000) or length_check(p_options #> '{missed,withinSeconds}'), not p_options ? 'missed') then
    perform raise_error('MR001', format('missed cannot be %s', p_options -> 'missed'), 'use "last", "none", {"all": 100} or {"withinSeconds": 3600}');
  elsif not coalesce(p_options -> 'afterFailure' in ('"retry"', '"skip"') or count_check(p_options #> '{afterFailure,stopAfter}', 1000000), not p_options ? 'afterFailure') then
    perform raise_error('MR001', format('afterFailure cannot be %s', p_options -> 'afterFailure'), 'use "retry", "skip" or {"stopAfter": 3}');
  elsif not coalesce(count_check(p_options -> 'maxRuns', 2147483647), not p_options ? 'maxRuns') or not coalesce(count_check(p_options -> 'keepRuns', 10000), not p_options ? 'keepRuns') then
    perform raise_error('MR001', 'maxRuns and keepRuns are whole numbers above 0', 'give at least 1; keepRuns at most 10,000');
  elsif not coalesce(length_check(p_job -> 'deadlineSeconds'), not p_job ? 'deadlineSeconds') then
    perform raise_error('MR001', format('deadlineSeconds cannot be %s', p_job -> 'deadlineSeconds'), 'give seconds above 0');
  end if;
  -- The job as it would be enqueued: a queue that is not there, or an option that is wrong, is told now; whether the queue takes jobs at the moment does not matter.
  begin
    perform plan_resolve(json_build_array(p_job - 'deadlineSeconds')), xid_now();
    raise sqlstate 'MRTRY';  -- what a tenant may enqueue was not used up by this
  exception when sqlstate 'MRTRY' or sqlstate 'MR014' or sqlstate 'MR015' then
    null;
  end;
end $$;

-- count_check: whether it is a whole number above 0, at most p_most: whoever makes and settles the runs of all schedules reads it as one. Null when it is not there.
create or replace function count_check(p_value jsonb, p_most bigint) returns boolean
language sql immutable strict as $$
  select case when jsonb_typeof(p_value) = 'number' then p_value::numeric between 1 and p_most and p_value::numeric % 1 = 0 else false end
$$;

-- length_check: whether it is a number of seconds above 0. Null when it is not there.
create or replace function length_check(p_value jsonb) returns boolean
language sql immutable strict as $$
  select case when jsonb_typeof(p_value) = 'number' then p_value::numeric > 0 and p_value::numeric <= bound('seconds') else false end
$$;

-- schedule_must_exist: hold a schedule for this transaction. Locks: its state, then its row, in the order of whoever makes runs. Raises: MR016.
create or replace function schedule_must_exist(p_name text) returns void
language plpgsql as $$
begin
  perform from schedule_state where schedule = p_name for update;
  perform from schedule where name = p_name for update;
  if not found then
    perform raise_error('MR016', format('there is no schedule "%s"', p_name), 'those there are, are in the view "schedules"');
  end if;
end $$;

-- schedule_event_add: note what happened to a schedule; the newest 10,000 are kept (schedule_events_tidy). Writes: schedule_event.
create or replace function schedule_event_add(p_schedule text, p_event text, p_slot_at timestamptz default null, p_slots int default null, p_by text default null, p_because text default null) returns void
language sql as $$
  insert into schedule_event (at, schedule, event, slot_at, slots, by, because) values (clock_now(), p_schedule, p_event, p_slot_at, p_slots, p_by, p_because)
$$;
