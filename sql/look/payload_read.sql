-- payload_read: part of a payload; an empty value past its end, null when the job has none. At most 16 MiB at a time.
create or replace function payload_read(p_job bigint, p_offset bigint default 0, p_length int default 1048576)
  returns bytea
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
      perform raise_error('MR004',
        format('the payload of job %s ends after %s of %s bytes', p_job, v_from, j.payload_size),
        'it was enqueued without all its pieces');
    end if;
    v_bytes := case when v_bytes = '' then v_piece else v_bytes || v_piece end;  -- one piece is not copied
    v_from := v_from + octet_length(v_piece);
  end loop;
  return v_bytes;
end $$;
