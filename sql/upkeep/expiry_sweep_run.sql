-- expiry_sweep_run: make jobs whose time to start has passed visible as expired. Any process may call it. Claims do the
-- same with those they meet; this finds those that nobody meets. Lanes that are busy, or in which somebody holds jobs,
-- are left for the next time: nothing is waited for. Returns how many were closed.
-- It reads the expiry indexes only from a point before which all transactions were known to have ended, so that a late
-- commit is not missed: a transaction with a higher number than the sweep that wrote the point down got its number
-- after that point. p_before: a time before this transaction had its number; null when it had one already, and then no
-- point is written down.
-- Locks: the sweep's own row, lane flags and lanes (all skipped when taken). Writes: amendment, agenda, tally,
-- fingerprint.
create or replace function expiry_sweep_run(p_limit int default 10000, p_before timestamptz default null) returns int
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  s expiry_sweep;
  v_now timestamptz := clock_now();
  v_snapshot pg_snapshot := pg_current_snapshot();
  v_closed bigint[] := '{}';
  v_due bigint[];
  v_skipped boolean := false;
  v_waited boolean;
  d record;
begin
  perform isolation_check('maintenance');
  select * into s from expiry_sweep for update skip locked;
  if not found then
    return 0;
  end if;
  -- Most of them have ended by then. The limit makes sure that each is looked up by itself: joined, all that ever ended
  -- would be read, perhaps for each of them.
  v_due := array(
    select due.id from (
      select due.id, due.start_by from (
        select j.slot, j.id, j.start_by from job j where j.start_by > s.swept_until and j.start_by <= v_now
        union all
        select m.slot, m.job_id, m.start_by from amendment m
         where m.start_by > s.swept_until and m.start_by <= v_now) due
        left join amendment m on m.slot = due.slot and m.job_id = due.id
       where coalesce(m.start_by, due.start_by) <= v_now and m.closed_at is null
         and (select true from job_attempt a
               where a.slot = due.slot and a.job_id = due.id and attempt_is_end(a.state, a.attempt, m.revived_after)
               limit 1) is null
      offset 0) due
     where not exists (select from claim c where due.id = any (c.jobs))
       and not exists (select from agenda g where g.job_id = due.id and g.due_at = 'infinity'
                         and (g.waits is null or g.waits ? 'after'))
     order by due.start_by limit p_limit);

  for d in
    select lane_key(j.queue_id, j.type, j.priority, j.resources) as lane, array_agg(j.id order by j.id) as jobs
      from (select distinct id from unnest(v_due) id) u
      join job j on j.slot = job_slot(u.id) and j.id = u.id
     group by 1
     order by 1
  loop
    if not pg_try_advisory_xact_lock(lane_flag(d.lane)) or not pg_try_advisory_xact_lock(lane_spares(d.lane))
      or not pg_try_advisory_xact_lock(lane_lock(d.lane)) then
      v_skipped := true;
      continue;
    end if;
    perform spares_recall(array[d.lane], d.jobs);
    for v_at in 1 .. cardinality(d.jobs) loop
      continue when not job_overdue(d.jobs[v_at], v_now);  -- it may have ended, or its time been moved, since the look
      select (chain = 1) is not true into v_waited from agenda where job_id = d.jobs[v_at] for update skip locked;
      if not found and exists (select from agenda where job_id = d.jobs[v_at]) then  -- somebody is promoting it
        v_skipped := true;
        continue;
      end if;
      delete from agenda where job_id = d.jobs[v_at];
      if job_close_waiting(job_slot(d.jobs[v_at]), array[d.jobs[v_at]], 'expired', null) <> '{}' then
        insert into tally (lane, ready, delayed)
        values (d.lane, case when v_waited then 0 else -1 end, case when v_waited then -1 else 0 end);
        v_closed := v_closed || d.jobs[v_at];
      end if;
    end loop;
  end loop;
  perform fingerprint_release(v_closed);
  if p_before is not null
    and not v_skipped
    and cardinality(v_due) < p_limit
    and xmin_of(v_snapshot) > s.candidate_xid then
    update expiry_sweep set swept_until = s.candidate, candidate = p_before, candidate_xid = xid_now();
  end if;
  return cardinality(v_closed);
end $$;

-- job_overdue: whether a job waits (not in a stage, nor as a follow-up) and its time to start has passed. One
-- statement, so one snapshot.
create or replace function job_overdue(p_job_id bigint, p_now timestamptz) returns boolean
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_slot smallint := job_slot(p_job_id);
begin
  return exists (
    select from job j left join amendment m on m.slot = v_slot and m.job_id = j.id
     where j.slot = v_slot and j.id = p_job_id and coalesce(m.start_by, j.start_by) <= p_now and m.closed_at is null
       and not exists (select from job_attempt a
                        where a.slot = v_slot and a.job_id = j.id
                          and attempt_is_end(a.state, a.attempt, m.revived_after))
       and not exists (select from claim c where j.id = any (c.jobs))
       and not exists (select from agenda g where g.job_id = j.id and g.due_at = 'infinity'
                         and (g.waits is null or g.waits ? 'after'))
       and job_purged_at(j, m) is null);
end $$;
