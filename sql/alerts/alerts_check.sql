-- alerts_check: compare all rules that are on with what is, fire what has held for long enough, resolve what has ended
-- for as long, and make the jobs that tell web hooks, and remind them of what goes on, in one transaction. One process
-- at a time does it, every 15 seconds (the row "alerts" of duty), as part of the upkeep. A rule whose condition cannot
-- be found out, because it fails or the history has stopped, changes nothing. At most a hundred subjects of each rule,
-- those with the highest value. Returns how many alerts have fired and were resolved. Locks: the duty's row (skipped
-- when taken). Writes: alert, alert_event, duty, and jobs. Raises: nothing.
create or replace function alerts_check() returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_last timestamptz;
  v_changes int := 0;
  r alert_rule;
  a alert;
begin
  select done_at into v_last from duty
   where name = 'alerts' and done_at <= v_now - interval '14 seconds' for update skip locked;
  if not found then
    return 0;
  end if;
  update duty set done_at = v_now where name = 'alerts';
  for r in select * from alert_rule order by name loop
    if not r.is_on then
      v_changes := v_changes + alerts_resolve(r.name);
      continue;
    end if;
    begin
      continue when not alert_look(r, v_now, v_last);
    exception when others then
      raise warning 'millrace: the rule "%" could not be checked: % (%)', r.name, sqlerrm, sqlstate;
      continue;
    end;
    delete from alert where rule = r.name and fired_at is null and not is_told and seen_at < v_now;
    for a in
      update alert set fired_at = v_now
       where rule = r.name and fired_at is null and seen_at >= v_now and since <= v_now - seconds(r.for_seconds)
      returning *
    loop
      perform alert_event_add('fired', a.rule, a.subject, a.value, a.message);
      v_changes := v_changes + 1;
    end loop;
    v_changes := v_changes + alerts_resolve(r.name, v_now - seconds(r.for_seconds), v_now);
    perform alerts_remind(r, v_last, v_now);
    for a in
      update alert set is_told = true
       where rule = r.name and fired_at is not null and not is_told
         and coalesce(silenced_until(r.silenced_until, r.options, subject), v_now) <= v_now returning *
    loop
      perform hooks_tell(r, 'fired', a, v_now);
    end loop;
  end loop;
  return v_changes;
end $$;

-- alerts_resolve: end what a rule has fired and what has not been seen since p_unseen_since; all of it without that.
-- What was told, and is silenced now, stays until the end of that can be told: it has not fired, but is told.
create or replace function alerts_resolve(p_rule text, p_unseen_since timestamptz default 'infinity',
  p_now timestamptz default 'infinity') returns int
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  r constant alert_rule := (select x from alert_rule x where x.name = p_rule);
  v_count int := 0;
  a alert;
begin
  for a in update alert set fired_at = null where rule = p_rule and fired_at is not null and seen_at <= p_unseen_since
                                              and seen_at < p_now returning * loop
    perform alert_event_add('resolved', a.rule, a.subject, a.value, a.message);
    v_count := v_count + 1;
  end loop;
  for a in
    delete from alert
     where rule = p_rule and fired_at is null and is_told and seen_at < p_now
       and coalesce(silenced_until(r.silenced_until, r.options, subject), v_now) <= v_now returning *
  loop
    perform hooks_tell(r, 'resolved', a, v_now);
  end loop;
  delete from alert where rule = p_rule and fired_at is null and not is_told and seen_at < p_now;
  return v_count;
end $$;

-- alerts_remind: tell again of what goes on, each remindSeconds after it has fired, where that time has come since the
-- look before. What was told never is told first.
create or replace function alerts_remind(r alert_rule, p_last timestamptz, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_every constant float8 := coalesce((r.options ->> 'remindSeconds')::float8, 86400);
begin
  if v_every > 0 then
    perform hooks_tell(r, 'reminder', a, p_now)
       from alert a
      where a.rule = r.name and a.fired_at <= p_last and a.is_told
        and coalesce(silenced_until(r.silenced_until, r.options, a.subject), p_now) <= p_now
        and floor(extract(epoch from p_now - a.fired_at) / v_every)
              > floor(extract(epoch from p_last - a.fired_at) / v_every);
  end if;
end $$;

-- hooks_tell: one job for each web hook of the rule. What it sends is fixed now, and its number lets a receiver know it
-- again.
create or replace function hooks_tell(r alert_rule, p_event text, a alert, p_now timestamptz) returns void
language plpgsql as $$
begin
  perform hook_enqueue(h, json_build_object('event', p_event, 'at', p_now, 'rule', r.name, 'kind', r.kind,
      'subject', a.subject, 'value', a.value, 'message', a.message, 'since', a.since))
    from unnest(r.hooks) h where exists (select from hook k where k.name = h);
end $$;

-- hook_enqueue: a job that sends something to a web hook, in the queue "millrace.alerts". It is tried for half a day.
create or replace function hook_enqueue(p_hook text, p_body json) returns bigint
language plpgsql as $$
declare
  v_id bigint;
begin
  if not exists (select from queue where name = 'millrace.alerts') then
    perform queue_put('millrace.alerts', '{}');
  end if;
  select e.job_id into v_id from job_enqueue('millrace.alert', json_build_object('hook', p_hook, 'body', p_body),
    '{"queue": "millrace.alerts", "maxAttempts": 20, "ttlSeconds": 86400, "attemptTimeoutSeconds": 30,
      "retry": {"base": 5, "factor": 2, "cap": 3600}}') e;
  perform queue_notify('{millrace.alerts}');
  return v_id;
end $$;

-- alert_look: note for which subjects the condition of a rule holds. False when that is not known. p_last: the look
-- before, after which what has ended and is to be told of begins anew.
create or replace function alert_look(r alert_rule, p_now timestamptz, p_last timestamptz) returns boolean
language plpgsql as $$
declare
  v_minute int;
begin
  if r.kind in ('oldest', 'failures', 'backlog') then
    select (d.holder::jsonb ->> 'minute')::int into v_minute from duty d
     where d.name = 'history' and d.done_at > p_now - interval '5 minutes';
    if v_minute is null then
      return false;
    end if;
  end if;
  insert into alert (rule, subject, since, seen_at, value, message)
  select r.name, c.subject, p_now, p_now, c.value, c.message
    from alert_conditions(r, v_minute) c order by c.value desc nulls last, c.subject limit 100
  on conflict (rule, subject) do update set seen_at = p_now, value = excluded.value, message = excluded.message,
    since = case when alert.fired_at is null and alert.is_told and alert.seen_at < p_last then p_now
                 else alert.since end;
  return true;
end $$;

-- alert_conditions: for what the condition of a rule holds just now. p_minute: the last one of the history.
create or replace function alert_conditions(r alert_rule, p_minute int)
returns table (subject text, value float8, message text)
language plpgsql as $$
declare
  o constant jsonb := r.options;
  v_queue constant text := o ->> 'queue';
  v_type constant text := o ->> 'type';
  v_seconds constant float8 := (o ->> 'seconds')::float8;
  v_window constant int := ((o ->> 'windowSeconds')::float8 / 60)::int;
begin
  case r.kind
    when 'oldest' then
      return query
      select subject_of(h.queue, h.type), s.oldest_seconds::float8,
             format('the oldest ready job of %s has waited for %s s', subject_of(h.queue, h.type),
               round(s.oldest_seconds::numeric))
        from alert_series(v_queue, v_type) h
        join sample_minute s on s.series = h.id and s.minute = p_minute and s.slot = p_minute / 360 % 5
       where s.oldest_seconds > v_seconds;
    when 'failures' then
      return query
      select subject_of(x.queue, x.type), x.failed::float8 / x.runs,
             format('%s of %s attempts of %s have failed within %s min', x.failed, x.runs, subject_of(x.queue, x.type),
               v_window)
        from (select h.queue, h.type, sum(s.failed) as failed, sum(s.runs) as runs
                from alert_series(v_queue, v_type) h
                join sample_minute s on s.series = h.id and s.minute between p_minute - v_window + 1 and p_minute
               group by 1, 2) x
       where x.runs >= (o ->> 'minRuns')::float8 and x.failed >= (o ->> 'share')::float8 * x.runs and x.failed > 0;
    when 'backlog' then
      return query
      select subject_of(h.queue, h.type), s.waiting::float8 - coalesce(b.waiting, 0),
             format('%s more jobs of %s wait than %s min ago: %s', s.waiting - coalesce(b.waiting, 0),
               subject_of(h.queue, h.type), v_window, s.waiting)
        from alert_series(v_queue, v_type) h
        join sample_minute s on s.series = h.id and s.minute = p_minute and s.slot = p_minute / 360 % 5
        left join sample_minute b on b.series = h.id and b.minute = p_minute - v_window
         and b.slot = (p_minute - v_window) / 360 % 5
       where s.waiting - coalesce(b.waiting, 0) >= (o ->> 'growth')::float8
         and exists (select from sample_minute e join history_series k on k.id = e.series
                      where k.queue = '' and k.type = '' and e.minute = p_minute - v_window);
    when 'breaker' then
      return query
      select subject_of(b.queue, b.type), null::float8,
             format('the breaker of %s is %s', subject_of(b.queue, b.type), b.state)
        from breakers b
       where b.state <> 'closed' and (v_queue is null or b.queue = v_queue) and (v_type is null or b.type = v_type);
    when 'schedule' then
      return query
      select s.name, s.failed_runs::float8,
             format('schedule %s is %s%s', s.name, s.health, coalesce(': ' || left(s.message, 300), ''))
        from schedules s
       where s.health in ('failing', 'stopped') and (o ->> 'schedule' is null or s.name = o ->> 'schedule');
    when 'unhandled' then
      return query
      select subject_of(u.queue, u.type), u.waiting::float8,
             format('%s jobs of %s wait, and no worker takes them', u.waiting, subject_of(u.queue, u.type))
        from types_unhandled(v_seconds) u
       where (v_queue is null or u.queue = v_queue) and (v_type is null or u.type = v_type);
    when 'workers' then
      return query
      select subject_of(v_queue, coalesce(v_type, '')), x.n::float8,
             format('%s workers take jobs of %s', x.n, subject_of(v_queue, coalesce(v_type, '')))
        from (select count(*) as n
                from worker_process p cross join lateral jsonb_array_elements(p.facts -> 'workers') w
               where p.expected_at > clock_now() and w ->> 'held' is null and w -> 'queues' ? v_queue
                 and (v_type is null or jsonb_typeof(w -> 'types') <> 'array' or w -> 'types' ? v_type)) x
       where x.n < (o ->> 'minWorkers')::float8;
    else
      return query
      select 'disk'::text, x.bytes::float8, format('the tables have %s', pg_size_pretty(x.bytes))
        from (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes from pg_class c
               where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r') x
       where x.bytes >= (o ->> 'bytes')::float8;
  end case;
end $$;

-- alert_series: the series a rule is about: of a type, of a queue, or of each queue. Our own queue is left out.
create or replace function alert_series(p_queue text, p_type text) returns setof history_series
language sql stable as $$
  select h.* from history_series h
   where h.type = coalesce(p_type, '') and h.queue <> '' and (p_queue is null or h.queue = p_queue)
     and (p_queue is not null or h.queue <> 'millrace.alerts')
$$;

create or replace function subject_of(p_queue text, p_type text) returns text
language sql immutable parallel safe as $$ select p_queue || case when p_type = '' then '' else '/' || p_type end $$;
