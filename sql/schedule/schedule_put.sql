-- schedule_put: declare recurring work. p_rule, p_options: docs/schedules.md; p_job: a type and options as for
-- job_enqueue, with deadlineSeconds (from the slot) instead of deadline. Returns {"change": "created" | "changed" |
-- "unchanged" | "older", "was": what it was before, "declaredBy", "declaredAt": by whom and when, if that was not
-- p_by}. A change never loses or repeats a slot: one that is due is still made, and the next is the first of the new
-- rule after now. p_version: a declaration with a lower version than the stored one is older, and changes nothing.
-- Locks: the schedule's state, then its row. Writes: schedule, schedule_state, schedule_event. Raises: MR001, MR003.
create or replace function schedule_put(p_name text, p_rule jsonb, p_job jsonb, p_input json default null,
  p_options jsonb default '{}', p_by text default null, p_app text default null, p_version int default null)
  returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  s schedule;
  v_was json;
begin
  perform schedule_check(p_name, p_rule, p_job, p_options), json_check('input', p_input, bound('inputBytes'));
  insert into schedule (name, rule, job, input, options, version, app, declared_by, declared_at, created_at, changed_at)
  values (p_name, p_rule, p_job, p_input, p_options, p_version, p_app, p_by, v_now, v_now, v_now)
  on conflict do nothing;
  if found then
    insert into schedule_state (schedule, revision, next_slot, base_at) values (p_name, 1, '-infinity', v_now);
    perform schedule_event_add(p_name, 'created', p_by => p_by);
    return json_build_object('change', 'created');
  end if;
  perform from schedule_state where schedule = p_name for update;
  select * into s from schedule where name = p_name for update;
  v_was := json_build_object('rule', s.rule, 'job', s.job, 'input', s.input, 'options', s.options, 'declaredBy',
    s.declared_by, 'declaredAt', s.declared_at);
  if s.version > coalesce(p_version, 0) then
    return json_build_object('change', 'older', 'was', v_was);
  end if;
  update schedule set version = p_version, app = p_app, declared_by = p_by, declared_at = v_now where name = p_name;
  if (s.rule, s.job, s.input::jsonb, s.options) is not distinct from (p_rule, p_job, p_input::jsonb, p_options) then
    return json_build_object('change', 'unchanged', 'was', v_was);
  end if;
  update schedule set rule = p_rule, job = p_job, input = p_input, options = p_options, revision = revision + 1,
         changed_at = v_now, finished_at = null, finished_because = null
   where name = p_name;
  update schedule_state t
     set revision = s.revision + 1, next_try_at = null, awaits_end = t.awaits_end and p_rule ? 'after',
         next_slot = case when s.rule = p_rule and s.finished_at is null
                            or isfinite(t.next_slot) and t.next_slot <= v_now
                            or t.awaits_end and p_rule ? 'after' then t.next_slot
                          else '-infinity' end,
         base_at = case when s.rule = p_rule and s.finished_at is null then t.base_at
                        else greatest(v_now, t.last_slot) end
   where t.schedule = p_name;
  perform schedule_event_add(p_name, 'changed', p_by => p_by);
  return json_build_object('change', 'changed', 'was', v_was);
end $$;

-- schedule_must_exist: hold a schedule for this transaction. Locks: its state, then its row, as those who make runs do.
-- Raises: MR016.
create or replace function schedule_must_exist(p_name text) returns void
language plpgsql as $$
begin
  perform from schedule_state where schedule = p_name for update;
  perform from schedule where name = p_name for update;
  if not found then
    perform raise_error('MR016', format('there is no schedule "%s"', p_name),
      'those there are, are in the view "schedules"');
  end if;
end $$;

-- schedule_event_add: note what happened to a schedule; the newest 10,000 are kept (schedule_events_tidy). Writes:
-- schedule_event.
create or replace function schedule_event_add(p_schedule text, p_event text, p_slot_at timestamptz default null,
  p_slots int default null, p_by text default null, p_because text default null) returns void
language sql as $$
  insert into schedule_event (at, schedule, event, slot_at, slots, by, because)
  values (clock_now(), p_schedule, p_event, p_slot_at, p_slots, p_by, p_because)
$$;
