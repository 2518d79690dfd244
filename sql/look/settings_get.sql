-- settings_get: what is set of a queue, a group of a queue, a type, a resource, a schedule, a calendar, a rule of
-- alerts, a web hook (never its secret, nor its whole address), or what is ordered of a process and a worker ('' for
-- any), as one object; null when there is nothing. For telling what a change has changed. Raises: nothing.
create or replace function settings_get(p_kind text, p_name text, p_part text default null) returns jsonb
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return case p_kind
    when 'queue' then (
      select q.options || jsonb_build_object('paused', q.paused_at is not null, 'closed', q.closed_at is not null)
             || case when p.parts is null then '{}' else jsonb_build_object('pausedParts', p.parts) end
        from queue q
        cross join lateral (
          select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('type', z.type, 'group', z.group_key))
                           order by z.type, z.group_key) as parts
            from (select * from pause where queue_id = q.id and job_id is null limit 100) z) p
       where q.name = p_name)
    when 'group' then (
      select jsonb_build_object('weight', s.weight, 'maxRunning', s.max_running, 'rate', s.rate)
        from group_setting s join queue q on q.id = s.queue_id
       where q.name = p_name and s.group_key = p_part)
    when 'type' then (select t.options from job_type t where t.type = p_name)
    when 'resource' then (select r.options from resource r where r.name = p_name)
    when 'schedule' then (
      select jsonb_build_object('rule', s.rule, 'job', s.job, 'input', s.input, 'options', s.options,
               'paused', s.paused_at is not null)
        from schedule s where s.name = p_name)
    when 'alertRule' then (
      select r.options || jsonb_build_object('kind', r.kind, 'forSeconds', r.for_seconds, 'remindSeconds',
               r.remind_seconds, 'hooks', r.hooks, 'on', r.is_on, 'silencedUntil', r.silenced_until,
               'silencedSubjects', (select jsonb_object_agg(s ->> 'subject', s ->> 'until')
                                      from json_array_elements(r.silences) s))
        from alert_rules r where r.name = p_name)
    when 'hook' then (
      select jsonb_build_object('leadsTo', h.origin, 'rules', h.rules) from hooks h where h.name = p_name)
    when 'worker' then (
      select jsonb_build_object('hold', o.hold, 'concurrency', o.concurrency)
        from worker_order o where o.process = p_name and o.worker = p_part)
    when 'calendar' then (select jsonb_build_object('days', c.days) from day_calendar c where c.name = p_name)
  end;
end $$;
