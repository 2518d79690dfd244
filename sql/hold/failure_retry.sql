-- failure_retry: give failed jobs more attempts, those of one group of failures (error_fingerprint) or all, oldest
-- first, in batches of p_limit jobs. Those of finished queues are left alone. p_since and p_until are about the time
-- they failed, as in job_failures. p_per_second spreads them over time, from p_start_at on. With p_dry_run they are
-- only counted. A call looks at 50,000 failures at most, so that it has an end, and may do less than p_limit, or
-- nothing. Returns how many, and what to give to the next call: after (null: that was all) and start_at. Locks, writes:
-- as job_retry. Raises: MR001, MR003, MR007.
create or replace function failure_retry(p_fingerprint text default null, p_queue text default null,
  p_type text default null, p_attempts int default 1, p_per_second float8 default null, p_limit int default 1000,
  p_after bigint default 0, p_start_at timestamptz default null, p_by text default null, p_because text default null,
  p_since timestamptz default null, p_until timestamptz default null, p_dry_run boolean default false,
  out retried int, out after bigint, out start_at timestamptz)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_jobs bigint[];
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a batch has 1 to 10000 jobs, not %s', p_limit), null);
  elsif p_fingerprint !~ '^[0-9a-f]{16}$' then
    perform raise_error('MR001', format('"%s" is not the fingerprint of a group of failures', p_fingerprint),
      'job_failures() lists them');
  end if;
  select f.jobs, f.next into v_jobs, after
    from failed_jobs(p_fingerprint, v_queue_id, p_type, p_since, p_until, coalesce(p_after, 0), p_limit) f;
  start_at := coalesce(p_start_at, clock_now());
  retried := case when p_dry_run then cardinality(v_jobs)
                  else job_retry(p_attempts, v_jobs, p_by => p_by, p_because => p_because,
                         p_per_second => p_per_second, p_start_at => start_at) end;
  start_at := start_at + rate_step(p_per_second) * retried;
end $$;

-- failed_jobs: the oldest jobs after p_after that failed and wait for a decision, along the index of attempts that did
-- not succeed, of the first p_most of them; and the last that was looked at, null when those were all there are.
create or replace function failed_jobs(p_fingerprint text, p_queue_id int, p_type text, p_since timestamptz,
  p_until timestamptz, p_after bigint, p_limit int, p_most int default 50000, out jobs bigint[],
  out next bigint)
language plpgsql set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
begin
  jobs := array(
    select f.job_id
      from (select * from job_failure where job_id > p_after order by job_id limit p_most) f
     where (p_queue_id is null or f.queue_id = p_queue_id)
       and (p_type is null or f.type = p_type)
       and (p_since is null or f.finished_at >= p_since)
       and (p_until is null or f.finished_at < p_until)
       and (p_fingerprint is null or error_fingerprint(f.error) = p_fingerprint)
       and not exists (select from queue q where q.id = f.queue_id and q.finished_at is not null)
     order by f.job_id limit p_limit);
  next := case when cardinality(jobs) = p_limit then jobs[p_limit]
               else (select f.job_id from job_failure f where f.job_id > p_after
                      order by f.job_id offset p_most - 1 limit 1) end;
end $$;
