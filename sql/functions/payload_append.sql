-- payload_append, payload_read: large payloads in pieces of 1 MiB (the last one shorter), so that nobody holds them whole.
-- Pieces belong to the transaction that enqueued the job with payloadSize; the last one completes it. Raises: MR001, MR002, MR004.
create or replace function payload_append(p_job bigint, p_piece int, p_bytes bytea) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  j record;
  v_expected int;
begin
  select xid, payload_size, payload into j from job where slot = job_slot(p_job) and id = p_job;
  if not found then
    perform raise_error('MR002', format('there is no job %s', p_job), 'append in the transaction that enqueued the job');
  end if;
  v_expected := least(1048576, j.payload_size - p_piece::bigint * 1048576);
  if j.xid <> xid_now() or j.payload is not null then
    perform raise_error('MR001', 'the payload of this job is complete', 'append in the transaction that enqueued the job');
  elsif v_expected is null or p_piece < 0 or v_expected <= 0 or octet_length(p_bytes) <> v_expected then
    perform raise_error('MR004', format('piece %s must have %s bytes, not %s', p_piece, greatest(v_expected, 0), octet_length(p_bytes)),
      'give payloadSize when enqueuing, and pieces of 1048576 bytes, the last one shorter');
  end if;
  if j.payload_size <= 65536 then  -- small enough to come with the claim
    update job set payload = p_bytes where slot = job_slot(p_job) and id = p_job;
  else
    insert into payload_piece (job_id, slot, piece, bytes) values (p_job, job_slot(p_job), p_piece, p_bytes);
  end if;
end $$;

-- payload_read: part of a payload; an empty value past its end, null when the job has none. At most 16 MiB at a time.
create or replace function payload_read(p_job bigint, p_offset bigint default 0, p_length int default 1048576) returns bytea
language plpgsql stable security definer set search_path from current set jit = off as $$
declare
  v_slot smallint := job_slot(p_job);
  j record;
  v_bytes bytea := '';
  v_from bigint := p_offset;
  v_end bigint;
  v_piece bytea;
begin
  if p_offset is null or p_offset < 0 or p_length is null or p_length not between 1 and 16777216 then
    perform raise_error('MR001', 'a part begins at 0 or later and has 1 to 16777216 bytes', null);
  end if;
  select payload, payload_size into j from job where slot = v_slot and id = p_job;
  if not found then
    perform raise_error('MR002', format('there is no job %s', p_job), 'it may have been removed after its retention');
  elsif j.payload_size is null then
    return null;
  elsif j.payload is not null then
    return substring(j.payload from p_offset::int + 1 for p_length);
  end if;
  v_end := least(p_offset + p_length, j.payload_size);
  while v_from < v_end loop
    select substring(bytes from (v_from % 1048576)::int + 1 for (v_end - v_from)::int) into v_piece
      from payload_piece where slot = v_slot and job_id = p_job and piece = v_from / 1048576;
    if v_piece is null or v_piece = '' then
      perform raise_error('MR004', format('the payload of job %s ends after %s of %s bytes', p_job, v_from, j.payload_size), 'it was enqueued without all its pieces');
    end if;
    v_bytes := v_bytes || v_piece;
    v_from := v_from + octet_length(v_piece);
  end loop;
  return v_bytes;
end $$;
