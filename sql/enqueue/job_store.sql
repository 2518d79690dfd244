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
  insert into job (id, xid, run_at, start_by, deadline, queue_id, max_attempts, attempt_timeout_ms, payload_size, slot,
                   priority, type, resources, group_key, tenant, fingerprint, content_type, schedule, schedule_slot,
                     retry, headers, source, input, payload, cost)
  values (p_id, v_xid, p.run_at, p.start_by, p.deadline, p.queue_id, p.max_attempts, p.attempt_timeout_ms,
    p.payload_size,
          job_slot(p_id), p.priority, p.type, p.resources, p.group_key, p.tenant, p.fingerprint, p.content_type,
            p.schedule, p.schedule_slot,
          p.retry, p.headers, p_source, p_input, case when octet_length(p.payload) <= 65536 then p.payload end, p.cost);
  if octet_length(p.payload) > 65536 then
    insert into payload_piece (job_id, slot, piece, bytes)
    select p_id, job_slot(p_id), k, substring(p.payload from k * 1048576 + 1 for 1048576)
      from generate_series(0, (octet_length(p.payload) - 1) / 1048576) k;
  end if;
  if p_due_at <= v_now then
    with opened as (
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
    insert into ticket (lane, xid, slot, jobs) values (line_of(p.lane), v_xid, ticket_slot(v_xid), array[p.track]);
  end if;
  if l.key is null or l.rest_xid is not null or (l.queue_id, l.type, l.priority, l.resources)
    is distinct from (p.queue_id, p.type, p.priority, p.resources) or (p.track <> p.lane and not l.grouped)
    or (p.cost is not null and not l.costs)
     or current_setting('transaction_isolation') <> 'read committed' then
    perform lane_scout(p.lane, p.queue_id, p.type, p.priority, p.resources, p.track <> p.lane, p.cost is not null);
  end if;
  return p_id;
end $$;
