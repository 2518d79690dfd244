-- job_add_retries: give finished-without-success jobs p_attempts more attempts and a renewed expiry, and make them claimable.
-- By ids, or all failed and expired ones of a type. Returns how many. Writes: amendment, ticket, tally, lane lock none.
-- Raises: MR001, MR002, MR003.
create or replace function job_add_retries(p_attempts int, p_jobs bigint[] default null, p_type text default null, p_queue text default null, p_limit int default 100000) returns int
language plpgsql security definer set search_path from current as $$
declare
  v_queue_id int := case when p_queue is not null then queue_id(p_queue) end;
  v_now timestamptz := clock_now();
  v_count int := 0;
  v_version int;
  v_lane bigint;
  d record;
begin
  if p_attempts is null or p_attempts < 1 then
    perform raise_error('MR001', format('%s attempts cannot be added', p_attempts), 'give 1 or more');
  elsif (p_jobs is null) = (p_type is null) then
    perform raise_error('MR001', 'adding retries needs either job ids or a type', null);
  elsif p_jobs is not null then
    perform job_must_exist(p_jobs);
  end if;
  for d in
    select j.id, j.slot, j.queue_id, j.type, j.priority, j.run_at, j.start_by, j.deadline, a.attempt, a.started_at
      from attempt a join job j on j.slot = a.slot and j.id = a.job_id
      left join amendment m on m.slot = a.slot and m.job_id = a.job_id
     where a.state in ('failed', 'expired') and a.attempt > coalesce(m.revived_after, 0)
       and (p_jobs is null or a.job_id = any (p_jobs)) and (p_type is null or j.type = p_type) and (v_queue_id is null or j.queue_id = v_queue_id)
     order by j.id limit p_limit
  loop
    insert into amendment (job_id, slot, version, revived_after, max_attempts, start_by, deadline, revived_at, updated_at)
    values (d.id, d.slot, 1, d.attempt, d.attempt + p_attempts, v_now + (d.start_by - d.run_at), v_now + (d.deadline - d.run_at), v_now, v_now)
    on conflict do nothing returning version into v_version;
    if not found then
      update amendment set version = version + 1, revived_after = d.attempt, max_attempts = d.attempt + p_attempts,
             start_by = v_now + (d.start_by - d.run_at), deadline = v_now + (d.deadline - d.run_at), revived_at = v_now, updated_at = v_now
       where slot = d.slot and job_id = d.id and revived_after < d.attempt returning version into v_version;
      continue when not found;
    end if;
    v_lane := lane_key(d.queue_id, d.type, d.priority);
    perform tickets_append(v_lane + 1, array[d.id], d.attempt + 1, v_version, false);
    insert into tally (lane, ready) values (v_lane, 1);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
