-- job_carry: enqueue a job that has failed in the cell that its queue came from (jobs_left), as a new one with a note
-- of where it comes from (source: {"id": its handle, "queue", "carried": true}). Whoever calls it does so once for a
-- job and its attempt (idempotent_begin). A duplicate is not enqueued: another live job has its fingerprint. Wakes
-- workers. Writes as job_enqueue. Raises: as job_enqueue.
create or replace function job_carry(p_type text, p_input json, p_options json, p_more jsonb, p_payload bytea,
  p_source json, out job_id bigint, out duplicate boolean)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_xid constant bigint := xid_now();  -- before the queue is read (queues_finish)
  p job_plan;
begin
  perform isolation_check('carrying a job into another cell');
  select * into p
    from plan_resolve(json_build_array(p_options::jsonb || p_more || jsonb_build_object('type', p_type)));
  p.payload_size := octet_length(p_payload);
  p.payload := case when p.payload_size <= 65536 then p_payload end;
  select e.job_id, e.duplicate into job_id, duplicate from enqueue_unique(p, p_input, p_source) e;
  if duplicate then
    return;
  end if;
  if octet_length(p_payload) > 65536 then
    perform payload_store(job_id, p_payload);
  end if;
  perform queue_notify(array[p_options ->> 'queue']);
end $$;
