-- schedule_check: what can be said of a schedule without knowing time. Its rule is read when the first slot is
-- computed; the client reads it before. Raises: MR001, MR003.
create or replace function schedule_check(p_name text, p_rule jsonb, p_job jsonb, p_options jsonb) returns void
language plpgsql stable as $$
declare
  v_kinds constant text[] := '{cron,every,after,rrule,times,at}';
  v_unknown text;
begin
  if coalesce(name_check('schedule', p_name), '') = '' then
    perform raise_error('MR001', 'a schedule needs a name', 'give 1 to 200 characters');
  elsif jsonb_typeof(p_rule) is distinct from 'object'
    or (select count(*) from jsonb_object_keys(p_rule) k where k = any (v_kinds)) <> 1 then
    perform raise_error('MR001', format('the rule of schedule "%s" does not say when to run', p_name),
      'give one of ' || array_to_string(v_kinds, ', '));
  elsif jsonb_typeof(p_job) is distinct from 'object' or jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'job and options of a schedule are objects', 'give JSON objects');
  elsif octet_length(p_rule::text) + octet_length(p_job::text) + octet_length(p_options::text)
    > bound('optionsBytes') then
    perform raise_error('MR004',
      format('rule, job and options have more than %s bytes together', bound('optionsBytes')),
      'give fewer times, or a rule that says the same');
  end if;
  select k into v_unknown
    from jsonb_object_keys(p_options) k
   where k <> all ('{overlap,missed,afterFailure,maxRuns,keepRuns,cancelStops}') limit 1;
  if v_unknown is not null then
    perform raise_error('MR001', format('unknown option "%s" of a schedule', v_unknown),
      'see the table of options in docs/schedules.md');
  end if;
  select k into v_unknown
    from jsonb_object_keys(p_job) k
   where k in ('runAt', 'delaySeconds', 'expiresAt', 'deadline', 'schedule', 'slotAt', 'stage') limit 1;
  if v_unknown is not null then
    perform raise_error('MR001', format('a scheduled job cannot have "%s"', v_unknown),
      'its slot decides; give ttlSeconds or deadlineSeconds to count from there');
  end if;
  if p_options ->> 'overlap' not in ('queue', 'skip', 'allow', 'cancel') then
    perform raise_error('MR001', format('unknown overlap "%s"', p_options ->> 'overlap'),
      'use queue, skip, allow or cancel');
  elsif not coalesce(
      p_options -> 'missed' in ('"last"', '"none"')
        or count_check(p_options #> '{missed,all}', 10000)
        or length_check(p_options #> '{missed,withinSeconds}'),
      not p_options ? 'missed') then
    perform raise_error('MR001', format('missed cannot be %s', p_options -> 'missed'),
      'use "last", "none", {"all": 100} or {"withinSeconds": 3600}');
  elsif not coalesce(
      p_options -> 'afterFailure' in ('"retry"', '"skip"')
        or count_check(p_options #> '{afterFailure,stopAfter}', 1000000),
      not p_options ? 'afterFailure') then
    perform raise_error('MR001', format('afterFailure cannot be %s', p_options -> 'afterFailure'),
      'use "retry", "skip" or {"stopAfter": 3}');
  elsif not coalesce(count_check(p_options -> 'maxRuns', 2147483647), not p_options ? 'maxRuns')
    or not coalesce(count_check(p_options -> 'keepRuns', 10000), not p_options ? 'keepRuns') then
    perform raise_error('MR001', 'maxRuns and keepRuns are whole numbers above 0',
      'give at least 1; keepRuns at most 10,000');
  elsif not coalesce(length_check(p_job -> 'deadlineSeconds'), not p_job ? 'deadlineSeconds') then
    perform raise_error('MR001', format('deadlineSeconds cannot be %s', p_job -> 'deadlineSeconds'),
      'give seconds above 0');
  end if;
  -- The job as it would be enqueued: a queue that is not there, or an option that is wrong, is told now; whether the
  -- queue takes jobs at the moment does not matter. One that is here may be changed until it follows a queue that has
  -- moved to another cell.
  begin
    perform plan_resolve(json_build_array(p_job - 'deadlineSeconds'), p_left => exists (
      select from schedule s where s.name = p_name and schedule_queue(s.job) = schedule_queue(p_job))), xid_now();
    raise sqlstate 'MRTRY';  -- what a tenant may enqueue was not used up by this
  exception when sqlstate 'MRTRY' or sqlstate 'MR014' or sqlstate 'MR015' then
    null;
  end;
end $$;

create or replace function moment_check(p_time jsonb) returns void
language plpgsql stable as $$
begin
  if jsonb_typeof(p_time) is distinct from 'string' or p_time
    #>> '{}' !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})$' then
    perform raise_error('MR001', format('blocked: %s is not a time', coalesce(p_time::text, 'nothing')),
      'give it with its offset, such as "2026-12-24T00:00:00Z"');
  end if;
  perform (p_time #>> '{}')::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format then
  perform raise_error('MR001', format('blocked: %s is not a time', p_time),
    'give it with its offset, such as "2026-12-24T00:00:00Z"');
end $$;

-- count_check: whether it is a whole number above 0, at most p_most, written without a point: whoever makes and settles
-- the runs of all schedules reads it as one, and 5.0 cannot be. Null when it is not there.
create or replace function count_check(p_value jsonb, p_most bigint) returns boolean
language sql immutable strict as $$
  select case when jsonb_typeof(p_value) = 'number' then p_value::numeric between 1 and p_most
    and p_value::text !~ '[.]' else false end
$$;

-- length_check: whether it is a number of seconds above 0. Null when it is not there.
create or replace function length_check(p_value jsonb) returns boolean
language sql immutable strict as $$
  select case when jsonb_typeof(p_value) = 'number' then p_value::numeric > 0 and p_value::numeric <= bound('seconds')
              else false end
$$;
