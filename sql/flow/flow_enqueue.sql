-- flow_enqueue: store jobs that wait for each other, all of them or none. p_jobs: [{"type", "input", "options",
-- "after": [places in this list, counted from 0, of jobs before it, or ids of jobs that are there, as texts], "when":
-- "succeeded" (the default), "failed" or "ended"}]. p_options: {"name", "queue"} of the flow, or {"flow": id} to add to
-- one. A flow is a job that nobody works on: it has begun, and ends with the last of its jobs. Returns {"flow",
-- "jobs"}.
-- Takes no lock for jobs that were there before: they are looked at later (edges_check).
-- Locks: a flow that is added to, shared (flow_lock). Writes: as job_enqueue_many; edge, step, agenda, ticket. Raises:
-- MR001, MR002, MR003, MR004, MR014, MR015, MR017 when the flow has ended, MR019.
create or replace function flow_enqueue(p_jobs json, p_options json default '{}') returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_xid constant bigint := xid_now();  -- before queues are read (queues_finish)
  v_lines flow_line[] := flow_lines(p_jobs);
  v_flow bigint;
  v_jobs bigint[] := '{}';
  v_inputs json;
  v_kinds int[];
  v_options json; v_waits jsonb[];  -- of each kind
begin
  perform flow_check(v_lines);
  v_flow := flow_open(p_options);
  if cardinality(v_lines) > 0 then
    -- Jobs that have the same options, and wait for as many others, are of one kind: that is made out once. Each for
    -- itself where tenants are counted, or a text may hide one, and where it waits for jobs that were there before.
    with line as materialized (
      select l.*, json_array_length(l.after) as n,
             dense_rank() over (order by concat(
               case when l.options::text ~ 'tenant|\\' or strpos(l.after::text, '"') > 0 then l.i end, ' ',
               json_array_length(l.after), ' ', l."when", ' ', l.type, ' ', l.options::text) collate "C") as kind
        from unnest(v_lines) with ordinality l (type, input, options, after, "when", i)
    ), kind as (
      select kind, coalesce(min(options::text), '{}')::jsonb || jsonb_build_object('type', min(type)) as options,
             case when min(n) > 0 then
               jsonb_build_object('after', min(n), 'of', min(n), 'bad', 0, 'when', coalesce(min("when"), 'succeeded'),
                 'in', v_flow)
               || case when strpos(min(after::text), '"') = 0 then '{}' else jsonb_build_object('check', (
                    select jsonb_agg(a #>> '{}') from json_array_elements(min(after::text)::json) a
                     where json_typeof(a) = 'string')) end end as waits
        from line group by kind
    )
    select k.options, k.waits, l.kinds, l.inputs into v_options, v_waits, v_kinds, v_inputs
      from (select json_agg(options order by kind) as options, array_agg(waits order by kind) as waits from kind) k
      cross join (select array_agg(kind) as kinds, json_agg(coalesce(input, 'null')) as inputs
                    from (select kind, input from line order by i) l) l;
    select e.job_ids into v_jobs from enqueue_each(v_inputs, v_options, v_flow, null, v_waits, v_kinds) e;
    insert into edge (target, waiter, slot)  -- each once: flow_check has seen to that
    select x.target, v_jobs[l.i], job_slot(x.target)
      from unnest(v_lines) with ordinality l (type, input, options, after, "when", i)
      cross join lateral json_array_elements(l.after) a
      cross join lateral (
        select case when json_typeof(a) = 'string' then (a #>> '{}')::bigint
                    else v_jobs[(a #>> '{}')::int + 1] end as target) x;
  end if;
  insert into step (job_id, slot, key, kind, n, at, value, jobs)
  values (v_flow, job_slot(v_flow), 'job', 'started', nextval('step_id_seq'), clock_now(), flow_apart(v_lines, v_jobs),
          v_jobs);
  perform notice_append(
    v_flow || array(select v_jobs[k.i] from unnest(v_waits) with ordinality w (waits, kind)
                      join unnest(v_kinds) with ordinality k (kind, i) on k.kind = w.kind where w.waits ? 'check'), 2);
  return json_build_object('flow', v_flow::text, 'jobs', v_jobs::text[]);
end $$;

-- flow_apart: what edges between jobs of the flow do not tell (flow_get): {id: {"when", "after": [ids of jobs that were
-- there]}} of those jobs that have such a thing; null when none has.
create or replace function flow_apart(p_lines flow_line[], p_jobs bigint[]) returns json
language sql stable as $$
  select json_object_agg(p_jobs[l.i], json_build_object('when', l."when", 'after', array(
           select a #>> '{}' from json_array_elements(l.after) a where json_typeof(a) = 'string')))
    from unnest(p_lines) with ordinality l (type, input, options, after, "when", i)
   where l."when" <> 'succeeded' or strpos(l.after::text, '"') > 0
$$;

-- flow_lines: the jobs of a flow as they were given. Raises: MR001.
create or replace function flow_lines(p_jobs json) returns flow_line[]
language plpgsql as $$
begin
  if json_typeof(p_jobs) is distinct from 'array' then
    perform raise_error('MR001', 'the jobs of a flow are not a list', 'give a JSON array');
  end if;
  return array(select x from json_populate_recordset(null::flow_line, p_jobs) x);
exception when data_exception or program_limit_exceeded or statement_too_complex then
  perform raise_error('MR001', format('the jobs of a flow: %s', left(sqlerrm, 300)), 'give objects with a type');
end $$;

-- flow_check: refuse a flow whose jobs wait for themselves, for what comes after them, or for what is not there.
-- Raises: MR001, MR002, MR019.
create or replace function flow_check(p_lines flow_line[]) returns void
language plpgsql as $$
declare
  l record;
begin
  if cardinality(p_lines) > bound('children') then
    perform raise_error('MR019', format('%s jobs are more than the limit of %s', cardinality(p_lines),
      bound('children')), 'add them to the flow in parts');
  end if;
  for l in  -- those that something is wrong with; most lines have nothing to look into, which a glance tells
    select x.*, i - 1 as place, w.bad, w.has_twice
      from unnest(p_lines) with ordinality x (type, input, options, after, "when", i)
      cross join lateral (
        select min(a::text) filter (where
                 case json_typeof(a)
                   when 'number' then a::text !~ '^[0-9]{1,9}$' or (a #>> '{}')::bigint >= x.i - 1
                   when 'string' then a #>> '{}' !~ '^[0-9]{1,18}$'
                   else true end) as bad,
               count(*) <> count(distinct (json_typeof(a), ltrim(a #>> '{}', '0'))) as has_twice
          from json_array_elements(case when json_typeof(x.after) = 'array' then x.after end) a) w
     where not flow_line_plain(x.options, x.after, x."when", x.i)
       and (x."when" <> all ('{succeeded,failed,ended}'::text[])
        or json_typeof(x.options) <> 'object'
        or x.options ->> 'fingerprint' is not null or x.options ->> 'schedule' is not null
        or json_typeof(x.after) <> 'array'
        or w.bad is not null or w.has_twice
        or x.options ->> 'stage' is not null and json_array_length(x.after) > 0
        or json_array_length(x.after) > bound('edges'))
     order by i limit 1
  loop
    if l."when" <> all ('{succeeded,failed,ended}'::text[]) then
      perform raise_error('MR001', format('unknown when "%s"', left(l."when", 100)), 'use succeeded, failed or ended');
    elsif json_typeof(l.options) <> 'object' then
      perform raise_error('MR001', 'options are not an object', 'give a JSON object per job');
    elsif l.options ->> 'fingerprint' is not null or l.options ->> 'schedule' is not null then
      perform raise_error('MR001', 'a job of a flow has no fingerprint and no schedule',
        'give them to a job that adds the flow');
    elsif json_typeof(l.after) <> 'array' then
      perform raise_error('MR001', 'after is not a list', 'give places in the list of jobs, or ids');
    elsif json_array_length(l.after) > 0 and l.options ->> 'stage' is not null then
      perform raise_error('MR001', 'a job that waits for others cannot be staged', 'give stage, or after');
    elsif json_array_length(l.after) > bound('edges') then
      perform raise_error('MR019', format('%s jobs to wait for are more than the limit of %s',
        json_array_length(l.after), bound('edges')), 'put a job between that waits for some of them');
    elsif l.bad is not null then
      perform raise_error('MR001', format('job %s of the flow cannot wait for %s', l.place, left(l.bad, 100)),
        'a job waits for jobs before it in the list, by their places, or for jobs that are there, by their ids');
    end if;
    perform raise_error('MR001', format('job %s of the flow waits for a job twice', l.place), 'name each once');
  end loop;
  perform job_must_exist(array(
    select distinct (a #>> '{}')::bigint from unnest(p_lines) x cross join lateral json_array_elements(x.after) a
     where strpos(x.after::text, '"') > 0 and json_typeof(a) = 'string'));
end $$;

-- flow_line_plain: whether a job of a flow has no options that need a look, and waits for one job before it, or for
-- none. To look into each list and each object costs as much as to store its job.
create or replace function flow_line_plain(p_options json, p_after json, p_when text, p_i bigint) returns boolean
language sql immutable parallel safe as $$
  select p_when is null
    and (p_options is null
         or p_options::text ~ '^{[^\\]*$' and p_options::text !~ 'fingerprint|schedule|stage')
    and case when p_after::text ~ '^\[[0-9]{1,9}\]$' then btrim(p_after::text, '[]')::int < p_i - 1
             else coalesce(p_after::text, '[]') = '[]' end
$$;

-- flow_open: make a flow, or find the one to add to, which then does not end before this transaction does. Returns its
-- id. Locks: flow_lock, shared. Writes: as job_store. Raises: MR001, MR002, MR017.
create or replace function flow_open(p_options json) returns bigint
language plpgsql as $$
declare
  v_flow bigint;
  p job_plan;
begin
  perform json_check('options', p_options);
  perform keys_check('a flow', p_options::jsonb, '{name,queue,flow}');
  if p_options ->> 'flow' is not null then
    v_flow := p_options ->> 'flow';
    perform job_must_exist(array[v_flow]);
    if not exists (select from job where slot = job_slot(v_flow) and id = v_flow and type = flow_type()) then
      perform raise_error('MR001', format('job %s is not a flow', v_flow), null);
    end if;
    perform pg_advisory_xact_lock_shared(flow_lock(v_flow));
    if current_setting('transaction_isolation') <> 'read committed' then
      perform from agenda where job_id = v_flow for key share;  -- fails if it has ended since the snapshot
    end if;
    if job_over(v_flow) then
      perform raise_error('MR017', format('flow %s has ended as %s', v_flow, job_state(v_flow)),
        'begin another one', json_build_object('state', job_state(v_flow))::text);
    end if;
    return v_flow;
  end if;
  p := plan_plain(p_options ->> 'queue', flow_type());
  v_flow := job_store(job_id_new(), p, json_build_object('name', name_check('name of a flow', p_options ->> 'name')),
    'infinity', null);
  update agenda set waits = jsonb_build_object('flow', true, 'keys', '["job"]'::jsonb, 'totals', '{"job": 0}'::jsonb,
      'children', '{"job": null}'::jsonb)
   where job_id = v_flow;
  return v_flow;
exception when invalid_text_representation or numeric_value_out_of_range then
  perform raise_error('MR001', 'the flow is not an id', 'give the id of a flow');
end $$;

-- flow_lock: held, shared, while a transaction adds to a flow; who ends the flow, or cancels its jobs, only tries.
create or replace function flow_lock(p_flow bigint) returns bigint
language sql stable as $$ select hashint8extended(p_flow, 'step'::regclass::oid::bigint * 4 + 2) $$;

-- flow_type: the type of the jobs that stand for flows. Nobody works on them.
create or replace function flow_type() returns text
language sql immutable parallel safe as $$ select 'millrace.flow' $$;

-- run_starts_00 to run_starts_31, run_starts: of jobs of one ring child that may begin, or go on: when they run at the
-- earliest; renews: whether there is a time to start by, which counts from then where a job of a flow begins
-- (flow_time); bytes: what the job adds to a claim. One function per ring child, as for steps (steps_append_to).
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function run_starts_%1$s(p_jobs bigint[])
        returns table (job_id bigint, run_at timestamptz, renews boolean, bytes int)
      language plpgsql as $body$
      begin
        return query
        select j.id, j.run_at, coalesce(isfinite(j.start_by), false), job_bytes(j.input, j.headers, j.payload)
          from job_%1$s j where j.id = any (p_jobs);
      end $body$ $function$, lpad(i::text, 2, '0'));
  end loop;
  execute 'create or replace function run_starts(p_slot smallint, p_jobs bigint[]) '
    || 'returns table (job_id bigint, run_at timestamptz, renews boolean, bytes int) language plpgsql as $body$ '
    || 'begin case p_slot '
    || (select string_agg(format('when %s then return query select * from run_starts_%s(p_jobs);', i,
                                 lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;

-- flow_time: when a job of a flow begins, now that it may; its time to start by counts from then. Writes: amendment.
create or replace function flow_time(p_job bigint) returns timestamptz
language plpgsql as $$
declare
  j job;
  v_due timestamptz;
begin
  select * into j from job where slot = job_slot(p_job) and id = p_job;
  v_due := greatest(clock_now(), j.run_at);
  perform start_by_renew(j, v_due);
  return v_due;
end $$;
