-- claim_reap: take back claims whose lease has ended, or whose jobs have passed their deadline. Any process may call
-- it. A claim that somebody is reporting on right now is skipped. Jobs that were never started go back without using an
-- attempt. The others are recorded as lost and retried alone, so that a job that kills its process cannot use up its
-- neighbours.
-- All claims are taken back in one go. If that fails, one after another; and the claim that fails, job by job. The job
-- that cannot be taken back fails, on record, and nobody else notices.
-- p_lanes: of these lanes; null: of all. Returns how many claims were touched.
-- Locks: claim rows (skip locked). Writes: claim, attempt, ticket, tally.
create or replace function claim_reap(p_limit int default 100, p_lanes bigint[] default null) returns int
language plpgsql set enable_seqscan = on as $$
declare
  c claim;
  v_claims claim[];
  v_now timestamptz := clock_now();
begin
  v_claims := array(
    select k
      from (select * from claim k
             where (k.until <= v_now or k.deadline <= v_now) and (p_lanes is null or k.lane = any (p_lanes))
             order by k.until limit p_limit for update skip locked) k
     where pg_try_advisory_xact_lock_shared(lane_entry(k.lane)));  -- else it is being purged; the next one will do
  if v_claims = '{}' then
    return 0;
  end if;
  begin
    foreach c in array v_claims loop
      perform claim_take_back(c, v_now);
    end loop;
  exception when others then
    perform passing_check(sqlstate, sqlerrm);
    foreach c in array v_claims loop
      perform claim_take_back_apart(c, v_now);
    end loop;
  end;
  return cardinality(v_claims);
end $$;

-- claim_take_back: end a claim whose lease has ended, or what of it has passed its deadline. The caller has locked it.
create or replace function claim_take_back(c claim, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_late bigint[];
begin
  if c.deadline <= p_now then
    v_late := claim_expire(c, p_now);
    if v_late is not null then
      select array_agg(u.id order by u.i), array_agg(u.attempt order by u.i) into c.jobs, c.attempts
        from unnest(c.jobs, coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)])))
          with ordinality u (id, attempt, i)
       where u.id not in (select unnest(v_late));
    end if;
  end if;
  if c.jobs is null or c.until > p_now then
    return;
  end if;
  delete from claim where token = c.token and part = c.part;
  perform claim_announce(c);
  c.attempts := coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]));
  if c.unstarted is not null then
    perform claim_return(c, array_agg(u.id order by u.i), array_agg(u.attempt order by u.i), p_now, true)
      from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i)
     where u.id = any (c.unstarted)
    having count(*) > 0;
    select array_agg(u.id order by u.i), array_agg(u.attempt order by u.i) into c.jobs, c.attempts
      from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i) where u.id not in (select unnest(c.unstarted));
    if c.jobs is null then
      return;
    end if;
  end if;
  perform attempts_close(c, 'lost', json_build_object('code', 'lost', 'message', 'the lease ended without a report'),
    null, null, null);
end $$;

-- claim_take_back_apart: the same for a claim that fails as a whole: each of its jobs by itself. The one that fails is
-- closed as failed, with the reason.
-- Writes: as claim_take_back.
create or replace function claim_take_back_apart(c claim, p_now timestamptz) returns void
language plpgsql as $$
declare
  k claim := c;
  v_error json;
begin
  begin
    perform claim_take_back(c, p_now);
    return;
  exception when others then
    perform passing_check(sqlstate, sqlerrm);
    v_error := json_build_object('code', sqlstate, 'message',
      'its claim could not be taken back: ' || left(sqlerrm, 1000));
  end;
  if cardinality(c.jobs) = 1 then
    delete from claim where token = c.token and part = c.part;
    insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, reason, worker, error)
    values (c.jobs[1], c.started_at, greatest(p_now, c.started_at), coalesce(c.attempts[1], 1), c.slot, 'lost',
            'failed', 'lost', c.worker, v_error);
    perform claim_announce(c), fingerprint_release(c.jobs);
    if c.linked then
      perform notice_append(c.jobs, 1);
    end if;
    return;
  end if;
  -- Each in a part of its own, so that whatever happens to one leaves the others where they are.
  delete from claim where token = c.token and part = c.part;
  for v_at in 1 .. cardinality(c.jobs) loop
    k.part := (select coalesce(max(x.part), -1) + 1 from claim x where x.token = c.token);
    k.jobs := array[c.jobs[v_at]];
    k.attempts := array[coalesce(c.attempts[v_at], 1)];
    k.unstarted := case when c.jobs[v_at] = any (c.unstarted) then k.jobs end;
    insert into claim select k.*;
    perform claim_take_back_apart(k, p_now);
  end loop;
end $$;

-- passing_check: return when an error comes from the work itself; raise it again when it comes from the moment: locks,
-- connections, memory, disk, or a server that stops.
-- Raises: the error it was given.
create or replace function passing_check(p_code text, p_message text) returns void
language plpgsql as $$
begin
  if left(p_code, 2) in ('08', '25', '40', '53', '55', '57', '58') or p_code = 'MR007' then
    raise exception using errcode = p_code, message = p_message;
  end if;
end $$;

-- claim_expire: close the jobs of a live claim part whose deadline has passed. Their worker is refused from now on. The
-- caller has locked the part. Returns their ids.
-- Writes: attempt, claim, fingerprint, pause.
create or replace function claim_expire(c claim, p_now timestamptz) returns bigint[]
language plpgsql as $$
declare
  v_late bigint[];
  v_rest bigint[];
  v_attempts int[];
  v_deadline timestamptz;
begin
  c.attempts := coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]));
  select array_agg(u.id) filter (where l.late), array_agg(u.id order by u.i) filter (where not l.late),
         array_agg(u.attempt order by u.i) filter (where not l.late),
         min(l.deadline) filter (where not l.late)
    into v_late, v_rest, v_attempts, v_deadline
    from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i) cross join lateral (
      select coalesce(m.deadline, j.deadline) as deadline,
             coalesce(coalesce(m.deadline, j.deadline) <= p_now, false) as late
        from job j
        left join amendment m on m.slot = c.slot and m.job_id = j.id
       where j.slot = c.slot and j.id = u.id) l;
  if v_rest is null then
    delete from claim where token = c.token and part = c.part;
  else
    update claim set jobs = v_rest, attempts = v_attempts, deadline = v_deadline
     where token = c.token and part = c.part;
  end if;
  insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker)
  select u.id, c.started_at, greatest(p_now, c.started_at), u.attempt, c.slot, 'expired', 'expired', c.worker
    from unnest(c.jobs, c.attempts) u (id, attempt) where u.id = any (v_late);
  perform queue_fail(c.lane, v_late[1], 'expired', json_build_object('message', 'the deadline passed'))
    from lane l
    join queue q on q.id = l.queue_id
   where l.key = c.lane and v_late is not null and q.options ->> 'onFailure' = 'pause';
  perform claim_announce(c);
  perform fingerprint_release(v_late);
  if c.linked then
    perform notice_append(v_late, 1);
  end if;
  return v_late;
end $$;
