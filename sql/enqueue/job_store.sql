-- How jobs are appended: one (job_store), many with the same plan (jobs_store), many with a plan each
-- (jobs_store_each). A new column of "job" is filled here, three times, and nowhere else. One statement for all three
-- was measured: a row made by a function makes an enqueue of 1000 slower by a tenth, and the first one of a connection
-- by 4 ms.

-- job_store: append one job with a given id, claimable when p_due_at has come. Returns the id, so that it can be called
-- in an assignment, which costs less than perform. Writes: job, payload_piece, ticket or agenda, tally, scout.
create or replace function job_store(p_id bigint, p job_plan, p_input json, p_due_at timestamptz, p_source json)
  returns bigint
language plpgsql as $$
declare
  v_now timestamptz := clock_now();
  v_xid bigint := xid_now();
  l lane;
begin
  insert into job (
    id, xid, slot, queue_id, type, priority, resources, cost, group_key, tenant, fingerprint, schedule, schedule_slot,
    run_at, start_by, deadline, max_attempts, attempt_timeout_ms, retry, headers, source, input, content_type,
    payload_size, payload)
  values (
    p_id, v_xid, job_slot(p_id), p.queue_id, p.type, p.priority, p.resources, p.cost, p.group_key, p.tenant,
    p.fingerprint, p.schedule, p.schedule_slot, p.run_at, p.start_by, p.deadline, p.max_attempts, p.attempt_timeout_ms,
    p.retry, p.headers, p_source, p_input, p.content_type, p.payload_size,
    case when octet_length(p.payload) <= 65536 then p.payload end);
  if octet_length(p.payload) > 65536 then
    perform payload_store(p_id, p.payload);
  end if;
  if p_due_at <= v_now then
    with opened as (  -- by tickets_append a single enqueue would take 5 % longer
      insert into ticket (lane, xid, slot, bytes, jobs) values (p.track, v_xid, ticket_slot(v_xid),
        job_bytes(p_input, p.headers, p.payload), array[p_id])
    ), counted as (
      insert into tally (lane, ready) values (p.lane, 1))
    select * into l from lane where key = p.lane;
  else
    with noted as (
      insert into agenda (job_id, due_at, lane, track, attempt, created_at, stage)
      values (p_id, p_due_at, p.lane, p.track, 1, v_now, p.stage)
    ), counted as (
      insert into tally (lane, delayed, staged) values (p.lane, 1, case when p.stage is null then 0 else 1 end))
    select * into l from lane where key = p.lane;
  end if;
  if p.track <> p.lane and p_due_at <= v_now then
    perform line_append(p.lane, array[p.track]);
  end if;
  if l.key is null
    or l.rest_xid is not null
    or (l.queue_id, l.type, l.priority, l.resources) is distinct from (p.queue_id, p.type, p.priority, p.resources)
    or (p.track <> p.lane and not l.grouped)
    or (p.cost is not null and not l.costs)
    or current_setting('transaction_isolation') <> 'read committed' then
    perform lane_scout(p.lane, p.queue_id, p.type, p.priority, p.resources, p.track <> p.lane, p.cost is not null);
  end if;
  return p_id;
end $$;

-- jobs_store: append jobs of one plan that has neither a fingerprint nor a slot of a schedule nor a payload. Returns
-- their ids in the order of p_inputs, a JSON array. p_bytes: its length, which the caller knows; to look at JSON as a
-- text makes two copies of it. Writes: job, ticket or agenda, tally, scout. Raises: MR001, MR004 for an input.
create or replace function jobs_store(p job_plan, p_inputs json, p_bytes int) returns bigint[]
language plpgsql as $$
declare
  v_xid bigint := xid_now();
  v_now timestamptz;
  -- One new id per thousand jobs; the others follow a microsecond apart, which is less time than it takes to store
  -- them.
  v_anchors bigint[] := array(
    select job_id_new() + (k * 1000::bigint << 12) from generate_series(0, p_bytes / 2000) k);
  v_ids bigint[];
  v_stored int;
begin
  insert into job (
    id, xid, slot, queue_id, type, priority, resources, cost, group_key, tenant,
    run_at, start_by, deadline, max_attempts, attempt_timeout_ms, retry, headers, input, content_type, payload_size)
  select
    x.id, v_xid, job_slot(x.id), p.queue_id, p.type, p.priority, p.resources, p.cost, p.group_key, p.tenant,
    p.run_at, p.start_by, p.deadline, p.max_attempts, p.attempt_timeout_ms, p.retry, p.headers, input_check(x.value),
    p.content_type, p.payload_size
    from (select v_anchors[(e.i - 1) / 1000 + 1] + (((e.i - 1) % 1000) << 12) as id, e.value
            from json_array_elements(p_inputs) with ordinality e (value, i) offset 0) x;
  get diagnostics v_stored = row_count;
  v_ids := array(select v_anchors[i / 1000 + 1] + ((i % 1000)::bigint << 12) from generate_series(0, v_stored - 1) i);
  if v_stored = 0 then
    return v_ids;
  end if;
  v_now := clock_now();
  perform lane_scout(p.lane, p.queue_id, p.type, p.priority, p.resources, p.track <> p.lane, p.cost is not null);
  if p.run_at <= v_now and p.stage is null then
    perform tickets_append(p.lane, p.track, v_ids, 1, 0, false,
      p_bytes + 100 * coalesce(octet_length(p.headers::text), 0));
    insert into tally (lane, ready) values (p.lane, v_stored);
  else
    insert into agenda (job_id, due_at, lane, track, attempt, created_at, stage)
    select id, case when p.stage is null then p.run_at else 'infinity' end, p.lane, p.track, 1, v_now, p.stage
      from unnest(v_ids) id;
    insert into tally (lane, delayed, staged)
    values (p.lane, v_stored, case when p.stage is null then 0 else v_stored end);
  end if;
  return v_ids;
end $$;

-- jobs_store_each: append the rows of jobs, each of a plan without a fingerprint; the caller makes them claimable.
-- p_parent, p_key: whose children they are, if they are. Returns how many. Writes: job, payload_piece.
create or replace function jobs_store_each(p_ids bigint[], p_plans job_plan[], p_inputs json[],
  p_parent bigint default null, p_key text default null) returns int
language plpgsql as $$
declare
  v_xid bigint := xid_now();
begin
  insert into job (
    id, xid, slot, queue_id, type, priority, resources, cost, group_key, tenant, schedule, schedule_slot,
    run_at, start_by, deadline, max_attempts, attempt_timeout_ms, retry, headers, input, content_type,
    payload_size, payload, parent, parent_key, parent_n)
  select
    x.id, v_xid, job_slot(x.id), x.queue_id, x.type, x.priority, x.resources, x.cost, x.group_key, x.tenant, x.schedule,
    x.schedule_slot, x.run_at, x.start_by, x.deadline, x.max_attempts, x.attempt_timeout_ms, x.retry, x.headers,
    x.input, x.content_type, x.payload_size, case when octet_length(x.payload) <= 65536 then x.payload end,
    p_parent, p_key, case when p_key is not null then x.n end
    from rows from (unnest(p_ids), unnest(p_inputs), unnest(p_plans)) x (id, input);
  perform payload_store(x.id, x.payload) from rows from (unnest(p_ids), unnest(p_plans)) x (id)
   where octet_length(x.payload) > 65536;
  return cardinality(p_ids);
end $$;

-- payload_store: keep a payload that is too large for its job's row, in pieces of 1 MiB. Writes: payload_piece.
create or replace function payload_store(p_id bigint, p_payload bytea) returns void
language plpgsql as $$
begin
  insert into payload_piece (job_id, slot, piece, bytes)
  select p_id, job_slot(p_id), k, case when octet_length(p_payload) <= 1048576 then p_payload  -- without a copy
    else substring(p_payload from k * 1048576 + 1 for 1048576) end
    from generate_series(0, (octet_length(p_payload) - 1) / 1048576) k;
end $$;
