-- job_outcomes: which of these jobs have ended, and how. Unknown ids are told as state "unknown". For those who wait
-- for results, of many jobs at once: only a job that nothing is recorded of, and that may have been purged or have
-- expired meanwhile, is looked at by itself. Each is found by its id: the log is never read as a whole.
create or replace function job_outcomes(p_jobs bigint[])
  returns table (job_id bigint, state text, reason text, result json, error json)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select u.id, s.state, last.reason::text, last.result, coalesce(last.error, m.note)
    from unnest(p_jobs) u (id)
    left join job j on j.slot = job_slot(u.id) and j.id = u.id
    left join amendment m on m.slot = job_slot(u.id) and m.job_id = u.id
    left join lateral (select a.* from job_attempt a
                        where a.slot = job_slot(u.id) and a.job_id = u.id
                        order by a.attempt desc limit 1) last on true
    cross join lateral (
      select case when j.id is null then 'unknown'
                  when attempt_is_end(last.state, last.attempt, m.revived_after) then last.state::text
                  when m.closed_at is not null then m.closed_as::text
                  when coalesce(m.start_by, j.start_by) <= clock_now()
                    or exists (select from lane_purge p
                                where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources))
                  then job_state(u.id) end as state) s
   where s.state = 'unknown' or state_is_final(s.state);
end $$;
