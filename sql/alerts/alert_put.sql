-- alert_put: make a rule, or change it. p_rule has "kind" and what that kind looks at (rule_check), "forSeconds" (60),
-- "remindSeconds" (a day), "hooks" (none) and "on" (true); it is the whole rule: what is left out has its default.
-- Silences stay. There are a hundred rules at most. Returns the rule as it is now. Writes: alert_rule, alert_event.
-- Raises: MR001, MR024.
create or replace function alert_put(p_name text, p_rule jsonb, p_by text default null) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_rule jsonb;
  v_hooks text[];
  v_missing text;
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
    perform raise_error('MR001', format('"%s" cannot name a rule', left(p_name, 100)),
      'use 1 to 100 letters, digits, and _ . : -, beginning with a letter or digit');
  end if;
  perform note_check(p_by, null);
  v_rule := rule_check(p_rule);
  v_hooks := array(select h from jsonb_array_elements_text(v_rule -> 'hooks') h);
  select h into v_missing from unnest(v_hooks) h where not exists (select from hook k where k.name = h) limit 1;
  if v_missing is not null then
    perform raise_error('MR024', format('there is no web hook "%s"', left(v_missing, 100)),
      'make it first: hook_put, millrace alerts hook-put');
  elsif not exists (select from alert_rule where name = p_name) and (select count(*) >= 100 from alert_rule) then
    perform raise_error('MR001', 'there are a hundred rules already', 'remove one');
  end if;
  insert into alert_rule (name, kind, options, for_seconds, hooks, is_on, put_by, put_at)
  values (p_name, v_rule ->> 'kind', v_rule - '{kind,forSeconds,hooks,on}'::text[], (v_rule ->> 'forSeconds')::float8,
          v_hooks, (v_rule ->> 'on')::boolean, p_by, clock_now())
  on conflict (name) do update set kind = excluded.kind,
    options = excluded.options || jsonb_strip_nulls(jsonb_build_object('silences', alert_rule.options -> 'silences')),
    for_seconds = excluded.for_seconds, hooks = excluded.hooks, is_on = excluded.is_on, put_by = excluded.put_by,
    put_at = excluded.put_at;
  perform alert_event_add('put', p_name, null, null, null, p_by);
  return v_rule;
end $$;

-- rule_check: a rule with its defaults. Raises: MR001.
create or replace function rule_check(p_rule jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_kind constant text := p_rule ->> 'kind';
  v_rule jsonb;
  v_known text[];
  v_key text;
  v_value jsonb;
begin
  if jsonb_typeof(p_rule) is distinct from 'object' then
    perform raise_error('MR001', 'a rule is an object', 'such as {"kind": "oldest", "seconds": 900}');
  end if;
  case v_kind
    when 'oldest' then v_known := '{queue,type,seconds}'; v_rule := '{"seconds": 900}';
    when 'failures' then
      v_known := '{queue,type,share,minRuns,windowSeconds}';
      v_rule := '{"share": 0.5, "minRuns": 20, "windowSeconds": 300}';
    when 'breaker' then v_known := '{queue,type}'; v_rule := '{}';
    when 'schedule' then v_known := '{schedule}'; v_rule := '{}';
    when 'unhandled' then v_known := '{queue,type,seconds}'; v_rule := '{"seconds": 300}';
    when 'workers' then v_known := '{queue,type,minWorkers}'; v_rule := '{"minWorkers": 1}';
    when 'backlog' then
      v_known := '{queue,type,growth,windowSeconds}'; v_rule := '{"growth": 10000, "windowSeconds": 1800}';
    when 'size' then v_known := '{bytes}'; v_rule := '{}';
    else
      perform raise_error('MR001', format('a rule cannot have the kind %s', coalesce(left(v_kind, 50), 'null')),
        'use oldest, failures, breaker, schedule, unhandled, workers, backlog or size');
  end case;
  perform keys_check('a rule', p_rule, v_known || '{kind,forSeconds,remindSeconds,hooks,on}'::text[]);
  v_rule := '{"forSeconds": 60, "remindSeconds": 86400, "hooks": [], "on": true}' || v_rule
              || jsonb_strip_nulls(p_rule);
  for v_key, v_value in select key, value from jsonb_each(v_rule) loop
    if v_key in ('kind', 'queue', 'type', 'schedule') then
      if jsonb_typeof(v_value) <> 'string' or length(v_value #>> '{}') not between 1 and 200 then
        perform raise_error('MR001', format('%s of a rule must be a text of 1 to 200 characters', v_key), null);
      end if;
    elsif v_key = 'on' then
      if jsonb_typeof(v_value) <> 'boolean' then
        perform raise_error('MR001', 'on of a rule is true or false', null);
      end if;
    elsif v_key = 'hooks' then
      if jsonb_typeof(v_value) <> 'array' or jsonb_array_length(v_value) > 10
         or exists (select from jsonb_array_elements(v_value) h where jsonb_typeof(h) <> 'string') then
        perform raise_error('MR001', 'hooks of a rule is a list of names of web hooks, ten at most', null);
      end if;
    elsif jsonb_typeof(v_value) <> 'number' or not (v_value #>> '{}')::float8 between rule_least(v_key)
      and rule_most(v_key) then
      perform raise_error('MR001', format('%s of a rule cannot be %s', v_key, left(v_value::text, 50)),
        'docs/alerts.md has what each may be');
    end if;
  end loop;
  if v_rule ? 'type' and not v_rule ? 'queue' then
    perform raise_error('MR001', 'a rule for a type names its queue too', null);
  elsif v_kind = 'workers' and not v_rule ? 'queue' then
    perform raise_error('MR001', 'a rule of the kind workers names a queue', null);
  elsif v_kind = 'size' and not v_rule ? 'bytes' then
    perform raise_error('MR001', 'a rule of the kind size has bytes', null);
  elsif (v_rule ->> 'remindSeconds')::float8 between 0.000001 and 59.999999 then
    perform raise_error('MR001', 'reminders are a minute apart at least',
      'give remindSeconds 60 or more, or 0 for none');
  end if;
  return v_rule;
end $$;

-- rule_least, rule_most: between which a number of a rule must be.
create or replace function rule_least(p_key text) returns float8
language sql immutable parallel safe as $$
  select case when p_key = 'windowSeconds' then 60 when p_key in ('forSeconds', 'remindSeconds', 'share') then 0
              else 1 end::float8
$$;
create or replace function rule_most(p_key text) returns float8
language sql immutable parallel safe as $$
  select case p_key when 'share' then 1 when 'windowSeconds' then 86400 when 'forSeconds' then 86400
           when 'remindSeconds' then 2592000
           when 'bytes' then 1e18 when 'minWorkers' then 10000 else 1e9 end::float8
$$;

-- alert_event_add: note what happened to an alert or a rule; the newest 10,000 are kept. Returns its number.
create or replace function alert_event_add(p_event text, p_rule text, p_subject text, p_value float8, p_message text,
  p_by text default null) returns bigint
language plpgsql as $$
declare
  v_id bigint;
begin
  insert into alert_event (at, event, rule, subject, value, message, by)
  values (clock_now(), p_event, p_rule, p_subject, p_value, p_message, p_by) returning id into v_id;
  delete from alert_event where id = any (array(
    select e.id from alert_event e where e.id <= v_id - 10000 order by e.id limit 10 for update skip locked));
  return v_id;
end $$;

-- alert_rule_found: the rule of this name. Raises: MR024.
create or replace function alert_rule_found(p_name text) returns alert_rule
language plpgsql as $$
declare
  r alert_rule;
begin
  select * into r from alert_rule where name = p_name for update;
  if not found then
    perform raise_error('MR024', format('there is no rule "%s"', left(p_name, 100)),
      'rules are in the view "alert_rules"');
  end if;
  return r;
end $$;
