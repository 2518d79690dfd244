-- job_copy: append a copy of a job to another queue, claimable at once or at p_due_at, with a note of where it came
-- from. Expiry, deadline and fingerprint stay behind; what its new queue says of ttlSeconds holds. The copy of a dead
-- letter also tells the first job, and the attempts before its source's. Writes as job_store, and payload_piece.
-- Returns the copy's id.
create or replace function job_copy(p_job_id bigint, p_queue_id int, p_note json,
  p_due_at timestamptz default clock_now()) returns bigint
language plpgsql as $$
declare
  j job;
  m amendment;
  p job_plan;
  v_id bigint := job_id_new();
begin
  select * into strict j from job where slot = job_slot(p_job_id) and id = p_job_id;
  select * into m from amendment where slot = j.slot and job_id = j.id;
  p.queue_id := p_queue_id; p.type := j.type; p.priority := j.priority; p.resources := j.resources;
  p.lane := lane_key(p_queue_id, j.type, j.priority, j.resources); p.track := group_track(p.lane, j.group_key);
  p.run_at := p_due_at;
  p.start_by := p_due_at + seconds(
    (select nullif(q.options ->> 'ttlSeconds', 'computed')::float8 from queue q where q.id = p_queue_id));
  p.max_attempts := j.max_attempts; p.attempt_timeout_ms := j.attempt_timeout_ms;
  p.group_key := j.group_key; p.tenant := j.tenant; p.retry := j.retry; p.payload := j.payload;
  p.payload_size := j.payload_size; p.content_type := j.content_type; p.cost := j.cost;
  p.headers := case when m.replaced then m.headers else j.headers end;
  perform job_store(v_id, p, case when m.replaced then m.input else j.input end, p.run_at,
    ('{"id":"' || j.id || '","queue":' || to_json((select name from queue where id = j.queue_id))
     || case when j.source ->> 'attempts' is not null
             then format(',"firstId":"%s","attemptsBefore":%s', coalesce(j.source ->> 'firstId', j.source ->> 'id'),
                         coalesce((j.source ->> 'attemptsBefore')::int, 0) + (j.source ->> 'attempts')::int)
             else '' end
     || ',' || substr(p_note::text, 2))::json);
  insert into payload_piece (job_id, slot, piece, bytes)
  select v_id, job_slot(v_id), piece, bytes from payload_piece where slot = j.slot and job_id = j.id;
  return v_id;
end $$;
