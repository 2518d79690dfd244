-- jobs_left: failed and expired jobs that nobody has decided on, of queues that have left this cell and have ended
-- here: by ids, or all (p_queue, p_type, p_fingerprint: those of a group of failures, p_since and p_until: by the time
-- they failed), oldest first after p_after. They cannot be retried here, where the queue's order and limits are not
-- counted any more; job_carry enqueues them anew where the queue is. has_steps: it has done steps, which cannot come
-- along. input and options are texts, because numbers of users go through them that programs would round. Raises:
-- MR003.
create or replace function jobs_left(p_jobs bigint[] default null, p_queue text default null, p_type text default null,
  p_fingerprint text default null, p_after bigint default 0, p_limit int default 1000,
  p_since timestamptz default null, p_until timestamptz default null)
  returns table (job_id bigint, queue text, cell text, attempt int, has_steps boolean, has_payload boolean, type text,
    input text, options text)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
begin
  return query
  select j.id, q.name, m.cell, e.attempt,
         exists (select from step s where s.slot = j.slot and s.job_id = j.id and s.kind in ('done', 'got', 'started')),
         j.payload_size is not null, j.type, (case when a.replaced then a.input else j.input end)::text,
         json_strip_nulls(json_build_object(
           'queue', q.name, 'priority', j.priority, 'group', j.group_key, 'cost', j.cost, 'resources', j.resources,
           'tenant', j.tenant, 'attemptTimeoutSeconds', j.attempt_timeout_ms / 1000.0, 'retry', j.retry,
           'fingerprint', j.fingerprint, 'contentType', j.content_type,
           'headers', case when a.replaced then a.headers else j.headers end,
           'ttlSeconds', case when isfinite(j.start_by) then date_part('epoch', j.start_by - e.counted_from) end))::text
    from queue_move m
    join queue q on q.id = m.queue_id and q.finished_at is not null
   cross join lateral jobs_ended(p_jobs, p_type, q.id, 2147483647) e
    join job j on j.slot = e.slot and j.id = e.id
    left join amendment a on a.slot = j.slot and a.job_id = j.id
   where m.is_leaving and (v_queue_id is null or q.id = v_queue_id) and j.id > p_after
     and (num_nonnulls(p_fingerprint, p_since, p_until) = 0 or exists (
           select from attempt t
            where t.slot = j.slot and t.job_id = j.id and t.attempt = e.attempt and t.state = 'failed'
              and (p_fingerprint is null or error_fingerprint(t.error) = p_fingerprint)
              and (p_since is null or t.finished_at >= p_since)
              and (p_until is null or t.finished_at < p_until)))
   order by j.id limit p_limit;
end $$;
