-- expiry_sweep_run: make jobs whose time to start has passed visible as expired. Any process may call it.
-- Reads the expiry indexes only from where all earlier transactions were known to have ended, so that a late commit is not missed.
-- A job that somebody is cancelling in an open transaction holds it up for half a second; then it gives up until later.
-- Returns how many were closed. Locks: the sweep's own row (skipped when taken). Writes: amendment, agenda, tally, fingerprint.
create or replace function expiry_sweep_run(p_limit int default 10000) returns int
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set lock_timeout = '500ms' as $$
declare
  s expiry_sweep;
  v_now timestamptz := clock_now();
  v_snapshot pg_snapshot := pg_current_snapshot();
  v_count int := 0;
  v_seen int := 0;
  v_jobs bigint[];
  v_slot smallint;
  v_waited boolean;
  v_id bigint;
begin
  select * into s from expiry_sweep for update skip locked;
  if not found then
    return 0;
  end if;
  for v_slot, v_jobs in
    select x.slot, array_agg(x.id) from (
      select due.slot, due.id from (
        select j.slot, j.id, j.start_by from job j where j.start_by > s.swept_until and j.start_by <= v_now
        union all
        select m.slot, m.job_id, m.start_by from amendment m where m.start_by > s.swept_until and m.start_by <= v_now) due
        left join amendment m on m.slot = due.slot and m.job_id = due.id
       where coalesce(m.start_by, due.start_by) <= v_now and m.closed_at is null
         and not exists (select from attempt a where a.slot = due.slot and a.job_id = due.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0))
         and not exists (select from claim c where due.id = any (c.jobs))
         and not exists (select from agenda g where g.job_id = due.id and g.due_at = 'infinity')
       order by due.start_by limit p_limit) x group by x.slot
  loop
    foreach v_id in array v_jobs loop
      v_seen := v_seen + 1;
      perform from lane where key = (select lane_key(queue_id, type, priority) from job where slot = v_slot and id = v_id) for key share;
      delete from agenda where job_id = v_id returning true into v_waited;
      continue when not coalesce(v_waited, false) and job_state(v_id) <> 'expired';
      if job_expire(v_slot, array[v_id]) = 1 then
        insert into tally (lane, ready, delayed)
        select lane_key(queue_id, type, priority), case when v_waited then 0 else -1 end, case when v_waited then -1 else 0 end
          from job where slot = v_slot and id = v_id;
        v_count := v_count + 1;
      end if;
    end loop;
  end loop;
  if v_seen < p_limit and pg_snapshot_xmin(v_snapshot)::text::bigint >= s.candidate_xmax then
    update expiry_sweep set swept_until = s.candidate, candidate = v_now, candidate_xmax = pg_snapshot_xmax(v_snapshot)::text::bigint;
  end if;
  return v_count;
exception when lock_not_available or deadlock_detected then
  return 0;
end $$;
