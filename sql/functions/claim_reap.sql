-- claim_reap: take back claims whose lease has ended or whose jobs' deadline has passed. Any process may call it.
-- A claim somebody is reporting on right now is skipped. Jobs that were never started go back without using an attempt;
-- the rest are recorded as lost and retried alone, so that one that kills its process cannot use up its neighbours.
-- Returns how many claims were touched. Locks: claim rows (skip locked). Writes: claim, attempt, ticket, tally.
create or replace function claim_reap(p_limit int default 100) returns int
language plpgsql set enable_seqscan = on as $$
declare
  c claim;
  v_n int := 0;
  v_now timestamptz := clock_now();
  v_late bigint[];
begin
  for c in select * from claim k where k.until <= v_now or k.deadline <= v_now order by k.until limit p_limit for update skip locked loop
    continue when not pg_try_advisory_xact_lock_shared(lane_entry(c.lane));  -- being purged; the next one will do
    v_n := v_n + 1;
    if c.deadline <= v_now then
      v_late := claim_expire(c, v_now);
      if v_late is not null then
        select array_agg(u.id order by u.i), array_agg(u.attempt order by u.i) into c.jobs, c.attempts
          from unnest(c.jobs, coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]))) with ordinality u (id, attempt, i)
         where u.id not in (select unnest(v_late));
        continue when c.jobs is null;
      end if;
    end if;
    continue when c.until > v_now;
    delete from claim where token = c.token and part = c.part;
    perform claim_announce(c);
    c.attempts := coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]));
    if c.unstarted is not null then
      perform claim_return(c, array_agg(u.id order by u.i), array_agg(u.attempt order by u.i), v_now, true)
         from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i) where u.id = any (c.unstarted) having count(*) > 0;
      select array_agg(u.id order by u.i), array_agg(u.attempt order by u.i) into c.jobs, c.attempts
        from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i) where u.id not in (select unnest(c.unstarted));
      continue when c.jobs is null;
    end if;
    perform attempts_close(c, 'lost', json_build_object('code', 'lost', 'message', 'the lease ended without a report'), null, null, null);
  end loop;
  return v_n;
end $$;

-- claim_expire: close those jobs of a live claim part whose deadline has passed; whoever runs them is refused from now on.
-- The caller has locked the part. Returns their ids. Writes: attempt, claim, fingerprint, pause.
create or replace function claim_expire(c claim, p_now timestamptz) returns bigint[]
language plpgsql as $$
declare
  v_late bigint[];
  v_rest bigint[];
  v_attempts int[];
  v_deadline timestamptz;
begin
  c.attempts := coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]));
  select array_agg(u.id) filter (where l.late), array_agg(u.id order by u.i) filter (where not l.late), array_agg(u.attempt order by u.i) filter (where not l.late),
         min(l.deadline) filter (where not l.late)
    into v_late, v_rest, v_attempts, v_deadline
    from unnest(c.jobs, c.attempts) with ordinality u (id, attempt, i) cross join lateral (
      select coalesce(m.deadline, j.deadline) as deadline, coalesce(coalesce(m.deadline, j.deadline) <= p_now, false) as late
        from job j left join amendment m on m.slot = c.slot and m.job_id = j.id where j.slot = c.slot and j.id = u.id) l;
  if v_rest is null then
    delete from claim where token = c.token and part = c.part;
  else
    update claim set jobs = v_rest, attempts = v_attempts, deadline = v_deadline where token = c.token and part = c.part;
  end if;
  insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker)
  select u.id, c.started_at, greatest(p_now, c.started_at), u.attempt, c.slot, 'expired', 'expired', c.worker
    from unnest(c.jobs, c.attempts) u (id, attempt) where u.id = any (v_late);
  perform queue_fail(c.lane, v_late[1], 'expired', json_build_object('message', 'the deadline passed')) from lane l join queue q on q.id = l.queue_id
    where l.key = c.lane and v_late is not null and q.options ->> 'onFailure' = 'pause';
  perform claim_announce(c);
  perform fingerprint_release(v_late);
  return v_late;
end $$;
