-- payload_append, payload_read: large payloads in pieces of 1 MiB (the last one shorter), so that nobody holds them
-- whole. Pieces belong to the transaction that enqueued the job with payloadSize; the last one completes it. Raises:
-- MR001, MR002, MR004.
create or replace function payload_append(p_job bigint, p_piece int, p_bytes bytea) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  j record;
  v_expected int;
begin
  select xid, payload_size, payload into j from job where slot = job_slot(p_job) and id = p_job;
  if not found then
    perform raise_error('MR002', format('there is no job %s', p_job),
      'append in the transaction that enqueued the job');
  end if;
  v_expected := least(1048576, j.payload_size - p_piece::bigint * 1048576);
  if j.xid <> xid_now() or j.payload is not null then
    perform raise_error('MR001', 'the payload of this job is complete',
      'append in the transaction that enqueued the job');
  elsif v_expected is null or p_piece < 0 or v_expected <= 0 or octet_length(p_bytes) <> v_expected then
    perform raise_error('MR004',
      format('piece %s must have %s bytes, not %s', p_piece, greatest(v_expected, 0), octet_length(p_bytes)),
      'give payloadSize when enqueuing, and pieces of 1048576 bytes, the last one shorter');
  end if;
  if j.payload_size <= 65536 then  -- small enough to come with the claim
    update job set payload = p_bytes where slot = job_slot(p_job) and id = p_job;
  else
    insert into payload_piece (job_id, slot, piece, bytes) values (p_job, job_slot(p_job), p_piece, p_bytes);
  end if;
end $$;
