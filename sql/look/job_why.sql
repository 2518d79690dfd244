-- job_why: why a job waits: reasons as [{"code", …}], what ends last first; docs/queue-states.md lists the codes and
-- their facts. Empty when it waits for nothing: it runs, or has ended; null when there is no such job. How many go
-- before it is counted in 1000 tickets of its lane or group at most ("isExact" is false beyond). Locks and writes
-- nothing. Raises: nothing.
create or replace function job_why(p_job_id bigint) returns jsonb
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_state constant text := job_state(p_job_id);
  j job;
  g agenda;
  v_why jsonb;
begin
  if v_state is null then
    return null;
  elsif state_is_final(v_state) or v_state = 'running' then
    return '[]';
  end if;
  select * into j from job where slot = job_slot(p_job_id) and id = p_job_id;
  select * into g from agenda where job_id = p_job_id;
  v_why := case when v_state in ('delayed', 'suspended') then agenda_reasons(g) else '[]'::jsonb end;
  v_why := v_why || coalesce((
    select jsonb_agg(r.why order by r.rank, r.why)
      from (select * from lane_reasons(j.queue_id, j.type, j.resources)
            union all
            select * from group_reasons(j.queue_id, j.type, j.group_key) x where j.group_key is not null) r
     -- what is to come does not hold back what may not go yet, except where somebody has to end it
     where (r.why ->> 'jobId' = p_job_id::text and r.why ->> 'code' = 'ordered') is not true
       and (counts_as_ready(v_state) or r.rank <= 2)), '[]');
  if counts_as_ready(v_state) then
    v_why := v_why || place_reasons(j);
  end if;
  return v_why;
end $$;

-- agenda_reasons: what a job waits for that is not due.
create or replace function agenda_reasons(g agenda) returns jsonb
language plpgsql as $$
declare
  v_until constant timestamptz := nullif(g.due_at, 'infinity');
begin
  if g.waits ? 'after' then
    return jsonb_build_array(jsonb_build_object('code', 'after', 'left', g.waits -> 'after', 'of', g.waits -> 'of',
      'when', g.waits -> 'when'));
  elsif g.waits is not null then
    return coalesce((
      select jsonb_agg(x.why order by x.n) from (
        select 1 as n, jsonb_build_object('code', 'signal',
                 'signals', jsonb_path_query_array(g.waits -> 'signals', '$.keyvalue().key')) as why
         where g.waits -> 'signals' <> '{}'
        union all
        select 2, jsonb_strip_nulls(jsonb_build_object('code', 'children', 'step', t.key, 'of', t.value,
                    'left', g.waits -> 'children' -> t.key))
          from jsonb_each(g.waits -> 'totals') t
        union all
        select 3, jsonb_build_object('code', 'sleep', 'until', v_until) where v_until is not null) x), '[]');
  elsif g.stage is not null then
    return jsonb_build_array(jsonb_build_object('code', 'stage', 'stage', g.stage));
  elsif v_until is null then
    return coalesce((
      select jsonb_build_array(jsonb_build_object('code', 'followUp', 'jobId', f.job_id::text,
               'fingerprint', f.fingerprint))
        from fingerprint f where f.follow_up = g.job_id limit 1), '[]');
  elsif g.attempt > 1 then
    return jsonb_build_array(jsonb_build_object('code', 'retry', 'until', v_until, 'attempt', g.attempt));
  end if;
  return jsonb_build_array(jsonb_build_object('code', 'time', 'until', v_until));
end $$;

-- place_reasons: that somebody holds a job that is ready, that one before it in its order cannot go, and how many go
-- before it in its lane, or in its group, and in lanes of its queue with a higher priority.
create or replace function place_reasons(j job) returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_lane constant bigint := lane_key(j.queue_id, j.type, j.priority, j.resources);
  v_track constant bigint := group_track(v_lane, j.group_key);
  v_queue constant jsonb := (select q.options from queue q where q.id = j.queue_id);
  v_urgent constant bigint := (
    select greatest(coalesce(sum(d.ready), 0), 0)
      from lane_known l
      cross join lateral (select x.ready from lane_depth x where x.lane = l.key
                          union all
                          select y.ready from tally y where y.lane = l.key) d
     where l.queue_id = j.queue_id and l.priority < j.priority);
  v_ahead bigint;
  v_exact boolean;
begin
  if exists (select from postponed p where p.job_id = j.id) then
    return '[{"code": "held"}]';
  end if;
  select n.jobs, n.is_exact into v_ahead, v_exact
    from tracks_waiting(array[v_track, again_of(v_track)], j.id, 1000) n;
  return coalesce((
    select jsonb_agg(x.why) from (
      select order_reason(j.queue_id, null) as why where j.group_key is null and chained(v_queue, false)) x
     where x.why is not null and x.why ->> 'jobId' <> j.id::text), '[]')
    || jsonb_strip_nulls(jsonb_build_object('code', case when v_ahead + v_urgent = 0 then 'next' else 'behind' end,
         'jobs', nullif(v_ahead + v_urgent, 0), 'urgent', nullif(v_urgent, 0), 'group', j.group_key,
         'isExact', case when not v_exact then false end));
end $$;
