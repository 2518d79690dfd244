-- plan_plain: what a job without options of its own will be: plan_resolve for the most common case, at a fraction of
-- its price. The transaction has its number before the queue is read, so that no close goes unseen (queues_finish).
-- Reads: cell, queue, job_type, job_definition. Raises: MR001, MR003, MR006, MR014, MR015, MR030.
create or replace function plan_plain(p_queue text, p_type text) returns job_plan
language plpgsql as $$
declare
  p job_plan;
  v_options jsonb;
  v_floor bigint;
  v_home bigint;
  v_xid constant bigint := xid_now();
  v_closed boolean;
  v_queue text;
begin
  select q.id, c.options || coalesce(q.options, '{}') || coalesce(t.options, '{}') || coalesce(f.defaults, '{}'),
         c.floor_xid, c.server_id, q.closed_at is not null, f.defaults -> 'retry', coalesce(p_queue, f.queue, 'default')
    into p.queue_id, v_options, v_floor, v_home, v_closed, p.retry, v_queue
    from cell c left join job_definition f on f.type = p_type
    left join queue q on q.name = coalesce(p_queue, f.queue, 'default') left join job_type t on t.type = p_type;
  if current_setting('millrace.server', true) is distinct from v_home::text then
    perform cell_at_home(v_home);
  end if;
  if v_floor > v_xid then
    perform cell_check(v_floor);
  end if;
  if p.queue_id is null then
    perform raise_error('MR003', format('there is no queue "%s"', v_queue),
      'create it with queue_put(name)');
  elsif v_closed then
    perform queue_refuse(p.queue_id);
  elsif p_type is null then
    perform raise_error('MR001', 'a job needs a type', 'give the option "type"');
  end if;
  p.n := 1;
  p.type := name_check('type', p_type);
  p.priority := 5;
  p.run_at := clock_now();
  p.max_attempts := 25;
  p.fingerprint_mode := 'keep';
  if v_options <> '{}' then
    p.priority := coalesce((v_options ->> 'priority')::smallint, p.priority);
    p.max_attempts := coalesce(max_attempts_check(v_options ->> 'maxAttempts'), p.max_attempts);
    if v_options ?| '{maxDepth,maxAgeSeconds,spread}' then
      p.queue_id := queue_room(p.queue_id, v_options);
    end if;
    if v_options ?| '{drainsAt,blocked}' then
      p.run_at := calendar_time(v_options, null, p.run_at);
    end if;
    p.start_by := p.run_at + seconds((v_options ->> 'ttlSeconds')::float8);
    p.attempt_timeout_ms := (v_options ->> 'attemptTimeoutSeconds')::float8 * 1000;
    p.resources := v_options -> 'resources';
    p.cost := nullif((v_options ->> 'cost')::int, 1);
  end if;
  p.lane := lane_key(p.queue_id, p.type, p.priority, p.resources);
  p.track := p.lane;
  return p;
end $$;
