-- queue_room: the queue's id, unless it may take no more jobs: as many wait as maxDepth says, or one has waited for
-- maxAgeSeconds. Only called where one of them is set. Costs as much as queue_depth, at any backlog.
-- Jobs of transactions still open are not seen, and a call that is accepted is accepted as a whole, so calls that are
-- under way at the same time can exceed the depth. What was set aside counts for the depth, but not for the age: it is
-- in nobody's way. When to try again is an estimate: the surplus, at the pace at which the waiting jobs have come.
-- With p_jobs, the options of the jobs to come, also unless they may be others' still, because the queue is just moving
-- here (arriving_check), and unless they belong to another cell, because the queue is spread (tenants_check).
-- Raises: MR001, MR015, MR023, MR031.
create or replace function queue_room(p_queue_id int, p_options jsonb, p_jobs json default null) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_most constant bigint := p_options ->> 'maxDepth';
  v_oldest constant float8 := p_options ->> 'maxAgeSeconds';
  v_depth bigint;
  v_age float8;
  v_wait float8;
begin
  if p_jobs is not null and p_options ? 'arrivesFrom' then
    perform arriving_check(p_queue_id, p_options ->> 'arrivesFrom', p_jobs);
  end if;
  if p_options ? 'spread' then
    perform tenants_check(p_queue_id, p_jobs);
  end if;
  if v_most is not null then
    select coalesce(sum(d.ready + d.delayed), 0) into v_depth
      from (select lane, ready, delayed from lane_depth union all select lane, ready, delayed from tally) d
     where d.lane in (select key from lane_known where queue_id = p_queue_id);
    if v_depth >= v_most then
      v_age := queue_age(p_queue_id);
      v_wait := (v_depth - v_most + 1) * coalesce(v_age, 0) / v_depth;
    end if;
  end if;
  if v_wait is null and v_oldest is not null then
    v_age := queue_age(p_queue_id);
    if v_age >= v_oldest then
      v_wait := v_age - v_oldest;
    end if;
  end if;
  if v_wait is not null then
    v_wait := ceil(least(greatest(v_wait, 1), 60));
    perform raise_error('MR015',
      (select format('the queue "%s" is full: ', q.name) from queue q where q.id = p_queue_id)
        || case when v_depth >= v_most then format('%s jobs wait, at most %s may', v_depth, v_most)
                else format('a job has waited for %s s, at most %s s are allowed', round(v_age::numeric), v_oldest) end,
      format('try again in %s s, or raise maxDepth or maxAgeSeconds', v_wait),
      json_strip_nulls(json_build_object('retryAfterSeconds', v_wait, 'depth', v_depth, 'maxDepth', v_most,
        'ageSeconds', v_age, 'maxAgeSeconds', v_oldest))::text);
  end if;
  return p_queue_id;
end $$;

-- queue_age: for how many seconds the oldest ready job of a queue has waited, without what was set aside; null when
-- there is none. Of groups it looks at the next 50 in line.
create or replace function queue_age(p_queue_id int) returns float8
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select age_seconds(clock_now(), min(greatest(job_created_at(j.id), j.run_at)))
            from queue_oldest(p_queue_id, 50, false, true) first (job)
            cross join lateral (select * from job j where j.slot = job_slot(first.job) and j.id = first.job offset 0) j
           where counts_as_ready(job_state(j.id)));
end $$;
