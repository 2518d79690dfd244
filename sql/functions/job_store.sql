-- job_store: append one job with a given id, claimable when p_due_at has come.
-- Writes: job, payload_piece, ticket or agenda, tally, scout.
create or replace function job_store(p_id bigint, p job_plan, p_input json, p_due_at timestamptz, p_source json) returns void
language plpgsql as $$
declare
  v_now timestamptz := clock_now();
begin
  insert into job (id, xid, run_at, start_by, deadline, queue_id, max_attempts, attempt_timeout_ms, payload_size, slot,
                   priority, type, group_key, tenant, fingerprint, content_type, schedule, schedule_slot, retry, headers, source, input, payload)
  values (p_id, xid_now(), p.run_at, p.start_by, p.deadline, p.queue_id, p.max_attempts, p.attempt_timeout_ms, p.payload_size,
          job_slot(p_id), p.priority, p.type, p.group_key, p.tenant, p.fingerprint, p.content_type, p.schedule, p.schedule_slot,
          p.retry, p.headers, p_source, p_input, case when octet_length(p.payload) <= 65536 then p.payload end);
  if octet_length(p.payload) > 65536 then
    insert into payload_piece (job_id, slot, piece, bytes)
    select p_id, job_slot(p_id), k, substring(p.payload from k * 1048576 + 1 for 1048576)
      from generate_series(0, (octet_length(p.payload) - 1) / 1048576) k;
  end if;
  perform lane_scout(p.lane, p.queue_id, p.type, p.priority);
  if p_due_at <= v_now then
    perform tickets_append(p.lane, array[p_id], 1, 0, false, coalesce(octet_length(p_input::text), 4) + coalesce(least(octet_length(p.payload), 65536) * 4 / 3, 0));
    insert into tally (lane, ready) values (p.lane, 1);
  else
    insert into agenda (job_id, due_at, lane, attempt, created_at) values (p_id, p_due_at, p.lane, 1, v_now);
    insert into tally (lane, delayed) values (p.lane, 1);
  end if;
end $$;
