-- plan_resolve: what each job of a batch will be, once the defaults of cell, queue and type have been applied.
-- p_options is an array of option objects, each of which is for p_jobs jobs. To be asked once: what tenants may enqueue
-- is counted here. The caller's transaction must have its number, so that no close of a queue goes unseen
-- (queues_finish). p_left: into a queue that has left, too (job_enqueue_left).
-- Reads: cell, queue, job_type, job_definition. Writes: bucket, tenant_place.
-- Raises: MR001, MR003, MR004, MR006, MR014, MR015, MR023, MR030, MR031.
create or replace function plan_resolve(p_options json, p_jobs int default 1, p_left boolean default false)
  returns setof job_plan
language plpgsql stable as $$
declare
  v_now timestamptz := clock_now();
  v_key text;  -- of an option that nobody knows
  v_kind text;  -- what its value should be, when it is another
  v_limit bigint;
  v_cell jsonb;
  v_floor bigint;
  v_home bigint;
begin
  if exists (select from json_array_elements(p_options) e where json_typeof(e) <> 'object') then
    perform raise_error('MR001', 'options are not an object', 'give a JSON object per job');
  end if;
  perform json_check('options', p_options);
  select o.key, case when o.key = any (job_option_texts()) then 'a text' when o.key = 'headers' then 'an object' end
    into v_key, v_kind
    from json_array_elements(p_options) e cross join lateral json_each(e) o
   where o.key = any (job_option_texts()) and json_typeof(o.value) in ('object', 'array', 'boolean')
      or o.key = 'headers' and json_typeof(o.value) not in ('object', 'null')
      or o.key <> all (job_option_names())
   limit 1;
  if v_kind is not null then
    perform raise_error('MR001', format('%s is not %s', v_key, v_kind), 'give ' || v_kind);
  elsif v_key is not null then
    perform raise_error('MR001', format('unknown option "%s"', left(v_key, 100)),
      'see the table of options in docs/options.md');
  end if;
  select c.options, c.payload_limit, c.floor_xid, c.server_id into v_cell, v_limit, v_floor, v_home from cell c;
  if current_setting('millrace.server', true) is distinct from v_home::text then
    perform cell_at_home(v_home);
  end if;
  perform cell_check(v_floor);

  return query
  with o as materialized (
    select x.*, x.ordinality as n, coalesce(x.queue, (select f.queue from job_definition f where f.type = x.type),
      'default') as to_queue from rows from (json_to_recordset(p_options) as (
      queue text, type text, priority text, "group" text, tenant text, "runAt" timestamptz, "delaySeconds" float8,
      "expiresAt" timestamptz, "ttlSeconds" text, deadline timestamptz, "maxAttempts" text,
      "attemptTimeoutSeconds" float8, retry jsonb, fingerprint text, "fingerprintMode" text,
      "fingerprintSeconds" float8, resources jsonb, headers json, payload text, "payloadSize" bigint,
        "contentType" text,
      schedule text, "slotAt" timestamptz, stage text, cost text)) with ordinality x
  ), kind as materialized (
    select k.queue, k.type,
           case when q.closed_at is not null and not p_left then queue_refuse(q.id)::int
                when q.options ?| '{maxDepth,maxAgeSeconds,arrivesFrom,spread}'
                  then queue_room(q.id, q.options, p_options)
                else q.id end as queue_id,
           case when q.options ?| '{drainsAt,blocked}' then q.options end as calendar,
             q.options ? 'freshnessSeconds' as is_fresh,
           coalesce((d.options ->> 'priority')::smallint, 5::smallint) as priority,
           coalesce(max_attempts_check(d.options ->> 'maxAttempts'), 25) as max_attempts,
           (d.options ->> 'ttlSeconds')::float8 as ttl,
           (d.options ->> 'attemptTimeoutSeconds')::float8 as attempt_timeout, d.options -> 'resources' as resources,
             (d.options ->> 'cost')::int as cost, f.defaults -> 'retry' as retry,
           q.options -> 'enqueueRate' as enqueue_rate
      from (select distinct o.to_queue as queue, coalesce(o.type, '') as type from o) k
      left join queue q on q.name = k.queue
      left join job_type t on t.type = k.type
      left join job_definition f on f.type = k.type
      cross join lateral (select v_cell || coalesce(q.options, '{}') || coalesce(t.options, '{}')
        || coalesce(f.defaults, '{}') as options) d
  ), quota as materialized (
    select x.queue, x.tenant, tenant_quota(x.queue_id, x.tenant, x.enqueue_rate, x.n * p_jobs, p_jobs) as granted
      from (select k.queue, k.queue_id, o.tenant, k.enqueue_rate, count(*)::int as n from o
        join kind k on k.queue = o.to_queue and k.type = coalesce(o.type, '')
             where o.tenant is not null and k.enqueue_rate is not null group by 1, 2, 3, 4 order by 2, 3) x
  ), p as (
    select o.*, k.queue_id, k.priority as default_priority, k.max_attempts,
      coalesce(ttl_check(o."ttlSeconds"), k.ttl) as p_ttl, k.attempt_timeout, k.is_fresh, k.retry as default_retry,
      nullif(coalesce(cost_check(o.cost), k.cost), 1) as p_cost,
      coalesce(resources_check(o.resources), k.resources) as p_resources,
           case when k.enqueue_rate is not null and row_number() over (partition by k.queue, o.tenant order by o.n)
             * p_jobs > (
                       select q.granted from quota q where q.queue = k.queue and q.tenant = o.tenant)
                then (k.enqueue_rate ->> 'spillPriority')::smallint
                  else coalesce(priority_check(o.priority), k.priority) end as p_priority,
           case when k.calendar is null then coalesce(o."runAt", v_now + seconds(coalesce(o."delaySeconds", 0)))
                else calendar_time(k.calendar, coalesce(o."runAt", v_now + seconds(o."delaySeconds")),
                  v_now) end as p_run_at,
           case when o.payload is not null then decode(o.payload, 'base64') end as p_payload
      from o join kind k on k.queue = o.to_queue and k.type = coalesce(o.type, '')
  )
  select p.n,
    coalesce(p.queue_id, raise_error('MR003', format('there is no queue "%s"', p.to_queue),
      'create it with queue_put(name)')::int),
    key.lane, group_track(key.lane, p."group"),
    coalesce(name_check('type', p.type), raise_error('MR001', 'a job needs a type', 'give the option "type"')),
    p.p_priority,
    case when num_nonnulls(seconds_check('delaySeconds', p."delaySeconds"), time_check('runAt', p."runAt")) = 2
         then raise_error('MR001', 'runAt and delaySeconds exclude each other', 'give one of them')::timestamptz
         else p.p_run_at end,
    case when time_check('expiresAt', p."expiresAt") <= v_now
         then raise_error('MR001', 'expiresAt has passed', 'give a time in the future')::timestamptz
         when p.p_ttl = 'infinity' and (p."expiresAt" is not null or p.deadline is not null)
         then raise_error('MR001', 'a computed ttlSeconds excludes expiresAt and deadline',
           'give one of them')::timestamptz
         when p.p_ttl = 'infinity' and (coalesce(p."attemptTimeoutSeconds", p.attempt_timeout) is null
           or coalesce(max_attempts_check(p."maxAttempts"), p.max_attempts) > 10000)
         then raise_error('MR001', 'ttlSeconds cannot be computed',
           'give attemptTimeoutSeconds, and at most 10000 as maxAttempts')::timestamptz
         when p.p_ttl = 'infinity' then 'infinity'
         else least(coalesce(p."expiresAt", greatest(p.p_run_at, v_now) + seconds(p.p_ttl)), p.deadline,
           case when p.p_ttl is not null then time_last() end) end,
    case when time_check('deadline', p.deadline) <= v_now
         then raise_error('MR001', 'deadline has passed', 'give a time in the future')::timestamptz
         else p.deadline end,
    coalesce(max_attempts_check(p."maxAttempts"), p.max_attempts),
    case when not p."attemptTimeoutSeconds" between 0.001 and 2147483
         then raise_error('MR001', format('attemptTimeoutSeconds cannot be %s', p."attemptTimeoutSeconds"),
           'give at least 0.001, at most 2147483')::int
         else (coalesce(p."attemptTimeoutSeconds", p.attempt_timeout) * 1000)::int end,
    case when p."group" is not null and p.is_fresh
         then raise_error('MR001', 'a queue with freshnessSeconds takes no groups',
           'enqueue without a group, or into another queue')
         else name_check('group', p."group") end, name_check('tenant', p.tenant),
           name_check('fingerprint', p.fingerprint, 500),
    case when p."fingerprintMode" <> all (job_option_choices('fingerprintMode'))
         then raise_error('MR001', format('unknown fingerprintMode "%s"', p."fingerprintMode"),
           'use one of ' || array_to_string(job_option_choices('fingerprintMode'), ', '))
         else coalesce(p."fingerprintMode", 'keep') end,
    seconds_check('fingerprintSeconds', p."fingerprintSeconds"),
    coalesce(retry_check(p.retry), p.default_retry), json_check('headers', p.headers, bound('headersBytes')),
    case when octet_length(p.p_payload) >= v_limit
         then raise_error('MR004', format('the payload has %s bytes; the limit is %s, exclusive',
           octet_length(p.p_payload), v_limit), 'store it elsewhere and enqueue a reference')::bytea
         else p.p_payload end,
    case when p."payloadSize" >= v_limit
         then raise_error('MR004', format('the payload has %s bytes; the limit is %s, exclusive', p."payloadSize",
           v_limit), 'store it elsewhere and enqueue a reference')::int
         when p."payloadSize" < 0
         then raise_error('MR001', 'payloadSize is negative', null)::int
         else coalesce(p."payloadSize", octet_length(p.p_payload))::int end,
    name_check('contentType', p."contentType"),
    case when (p.schedule is null) <> (p."slotAt" is null)
         then raise_error('MR001', 'schedule and slotAt belong together', 'give both or none')
         else name_check('schedule', p.schedule) end,
    time_check('slotAt', p."slotAt"), p.p_resources,
    case when p.stage is not null and p."fingerprintMode" = 'followUp'
         then raise_error('MR001', 'a follow-up cannot be staged', 'give stage, or fingerprintMode "followUp"')
         else name_check('stage', p.stage) end,
    p.p_cost
  from p cross join lateral (select lane_key(p.queue_id, p.type, p.p_priority, p.p_resources) as lane) key order by p.n;
exception when data_exception then  -- a text that is no number or time where one belongs
  perform raise_error('MR001', format('options: %s', left(sqlerrm, 300)),
    'see the table of options in docs/options.md');
end $$;
