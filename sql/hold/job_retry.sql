-- job_retry: give jobs that ended without success p_attempts more attempts and a new expiry, and make them
-- claimable. By ids, or all failed and expired ones of a type; discarded ones stay as they are. Leaves a record of who
-- decided it, and why. Wakes the workers of those that are claimable at once. Returns how many.
-- p_per_second spreads them over time, oldest first, from p_start_at on (default now); the expiry of each counts from
-- when it is due. Jobs of a finished queue cannot be retried: by ids they are refused unless p_skip_finished, by type
-- they are left alone. A job whose fingerprint names another live job is left alone too.
-- Locks: the pins of their days (ring_pin), closed queues, their fingerprints, then as job_hold. Writes: amendment,
-- ticket or agenda, tally, fingerprint, decision. Raises: MR001, MR002, MR003, MR014.
create or replace function job_retry(p_attempts int, p_jobs bigint[] default null, p_type text default null,
  p_queue text default null, p_limit int default 100000, p_by text default null, p_because text default null,
  p_per_second float8 default null, p_start_at timestamptz default null, p_skip_finished boolean default false)
  returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := case when p_queue is not null then queue_id(p_queue) end;
  v_now timestamptz;
  v_step constant interval := rate_step(p_per_second);
  v_due timestamptz;
  v_count int := 0;
  v_version int;
  v_queues int[];
  v_fingerprints text[];
  v_lane bigint;
  v_track bigint;
  v_chained boolean;
  v_finished int[];
  v_stirred int[] := '{}';
  d record;
begin
  if p_attempts is null or p_attempts < 1 then
    perform raise_error('MR001', format('%s attempts cannot be added', p_attempts), 'give 1 or more');
  elsif (p_jobs is null) = (p_type is null) then
    perform raise_error('MR001', 'a retry needs either job ids or a type', null);
  end if;
  perform limit_check(p_limit);
  perform pg_advisory_xact_lock_shared(ring_pin(slot))
     from (select distinct job_slot(id) as slot from unnest(p_jobs) id
           union
           select slot from ring where p_jobs is null
            order by 1) days;
  if p_jobs is not null then
    perform job_must_exist(p_jobs);
  end if;
  v_finished := queues_reenter(case
    when p_jobs is not null then array(
      select distinct j.queue_id from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id)
    when v_queue_id is not null then array[v_queue_id]
    else array(select id from queue) end);
  if v_finished <> '{}' and (p_jobs is not null or v_queue_id is not null) and not p_skip_finished then
    perform queue_refuse(v_finished[1]);
  end if;
  -- fingerprints come before jobs in the order of locks, so all that may be needed are taken now
  select array_agg(f.queue_id), array_agg(f.fingerprint) into v_queues, v_fingerprints from (
    select distinct j.queue_id, j.fingerprint from job j
     where j.fingerprint is not null
       and (p_jobs is null or j.id = any (p_jobs))
       and (p_type is null or j.type = p_type)
       and (v_queue_id is null or j.queue_id = v_queue_id)
       and (p_jobs is not null
            or j.start_by <= clock_now()
            or j.id in (select e.id from jobs_ended(p_jobs, p_type, v_queue_id, p_limit) e))) f;
  if v_queues is not null then
    perform fingerprints_reserve(v_queues, v_fingerprints);
  end if;
  if p_jobs is not null then
    perform job_hold(p_jobs);
  else
    perform lanes_seize(array(select key from lane
                               where type = p_type and (v_queue_id is null or queue_id = v_queue_id)
                               order by key));
  end if;
  perform expiry_sweep_run(100000);  -- what has expired but was not seen yet counts too
  -- later than a purge that was waited for (lane_enter)
  v_now := greatest(clock_now(), (select max(p.purged_at) + interval '1 microsecond' from lane_purge p));
  for d in
    select e.*, case when isfinite(e.start_by) then e.start_by - e.counted_from end as ttl,
           e.deadline - e.counted_from as time_left
      from jobs_ended(p_jobs, p_type, v_queue_id, p_limit) e
  loop
    continue when d.queue_id = any (v_finished);
    if d.fingerprint is not null then  -- one live job has it at a time
      update fingerprint set job_id = d.id, follow_up = null
       where queue_id = d.queue_id
         and fingerprint = d.fingerprint
         and (job_id = d.id or job_over(job_id))
         and (follow_up is null or job_over(follow_up));
      continue when not found;
    end if;
    v_due := greatest(v_now, coalesce(p_start_at, v_now) + v_step * v_count);
    insert into amendment (job_id, slot, updated_at) values (d.id, d.slot, v_now) on conflict do nothing;
    update amendment
       set version = version + 1, revived_after = d.attempt, max_attempts = d.attempt + p_attempts,
           start_by = case when d.ttl is null then d.start_by else least(v_due + d.ttl, time_last()) end,
           deadline = case when d.time_left is not null then least(v_due + d.time_left, time_last()) end,
           revived_at = v_now, closed_at = null, closed_as = null, note = null, updated_at = v_now
     where slot = d.slot
       and job_id = d.id
       and (closed_at is not null or revived_after < d.attempt)
       and discarded_at is null
    returning version into v_version;
    continue when not found;
    insert into decision (job_id, decided_at, action, attempts, decided_by, because)
    values (d.id, v_now, 'retry', p_attempts, p_by, p_because);
    v_lane := lane_key(d.queue_id, d.type, d.priority, d.resources);
    -- it may rest, or be forgotten
    perform lane_scout(v_lane, d.queue_id, d.type, d.priority, d.resources, d.group_key is not null,
      d.cost is not null);
    v_track := group_track(v_lane, d.group_key);
    v_chained := (select chained(q.options, v_track <> v_lane) from queue q where q.id = d.queue_id);
    if v_due <= v_now and not v_chained then
      perform tickets_append(v_lane, again_of(v_track), array[d.id], d.attempt + 1, v_version, false);
      insert into tally (lane, ready) values (v_lane, 1);
    else
      insert into agenda (job_id, due_at, lane, track, attempt, version, created_at, chain)
      values (d.id, v_due, v_lane, v_track, d.attempt + 1, v_version, v_now,
              case when v_chained then (v_due <= v_now)::int end);
      insert into tally (lane, ready, delayed)
      values (v_lane, case when v_due <= v_now then 1 else 0 end, case when v_due <= v_now then 0 else 1 end);
      if v_due <= v_now and v_track <> v_lane then
        perform line_append(v_lane, array[v_track]);
      end if;
    end if;
    if v_due <= v_now and d.queue_id <> all (v_stirred) then
      v_stirred := v_stirred || d.queue_id;
    end if;
    v_count := v_count + 1;
  end loop;
  perform queue_notify(array(select name from queue where id = any (v_stirred)));
  if v_queues is not null then
    delete from fingerprint where job_id = 0;  -- taken for nothing; nobody else's 0 is ever seen
  end if;
  return v_count;
end $$;

-- jobs_ended: jobs that ended without success and were not discarded, by ids or by type, with the last attempt that was
-- used up.
create or replace function jobs_ended(p_jobs bigint[], p_type text, p_queue_id int, p_limit int)
returns table (id bigint, slot smallint, queue_id int, type text, priority smallint, resources jsonb, group_key text,
  fingerprint text, start_by timestamptz, deadline timestamptz, counted_from timestamptz, attempt int, cost int)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
  select j.id, j.slot, j.queue_id, j.type, j.priority, j.resources, j.group_key, j.fingerprint, j.start_by, j.deadline,
         greatest(j.run_at, job_created_at(j.id)), ended.attempt, j.cost
    from (
      select a.slot, a.job_id, a.attempt from attempt a left join amendment m on m.slot = a.slot and m.job_id = a.job_id
       where a.state in ('failed', 'expired') and attempt_is_end(a.state, a.attempt, m.revived_after)
         and m.discarded_at is null
         and (p_jobs is null or a.job_id = any (p_jobs))
      union
      select m.slot, m.job_id,
             coalesce((select max(a.attempt) from attempt a where a.slot = m.slot and a.job_id = m.job_id), 0)
        from amendment m
       where m.closed_as = 'expired' and m.closed_at is not null and m.discarded_at is null
         and (p_jobs is null or m.job_id = any (p_jobs))) ended
    join job j on j.slot = ended.slot and j.id = ended.job_id
   where (p_jobs is null or j.id = any (p_jobs))
     and (p_type is null or j.type = p_type)
     and (p_queue_id is null or j.queue_id = p_queue_id)
   order by j.id limit p_limit;
end $$;
