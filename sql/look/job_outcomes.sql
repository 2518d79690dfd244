-- job_outcomes: which of these jobs have ended, and how. Unknown ids are told as state "unknown". For those who wait
-- for results, of many jobs at once: only a job that nothing is recorded of, and that may have been purged or have
-- expired meanwhile, is looked at by itself. Each is found by its id: the log is never read as a whole.
create or replace function job_outcomes(p_jobs bigint[])
  returns table (job_id bigint, state text, reason text, result json, error json)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_slot smallint;
  v_jobs bigint[];
begin
  for v_slot, v_jobs in
    select job_slot(u.id), array_agg(u.id order by i) from unnest(p_jobs) with ordinality u (id, i)
     where u.id is not null group by 1
  loop
    return query select o.job_id, o.state, o.reason, o.result, o.error from outcomes_read(v_slot, v_jobs) o;
  end loop;
end $$;

-- outcomes_read_00 to outcomes_read_31, outcomes_read: the same in one ring child, and whose child each of them is. One
-- function per ring child, as for claims (job_lines): with all 32 in one plan a look at one job took 3 ms.
do $do$
declare
  v_columns constant text := '(job_id bigint, state text, reason text, result json, error json, parent bigint, '
    || 'parent_key text, parent_n int)';
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function outcomes_read_%1$s(p_jobs bigint[]) returns table %2$s
      language plpgsql as $body$
      begin
        return query
        select u.id, s.state, a.reason::text, a.result,
               case when attempt_is_end(a.state, a.attempt, m.revived_after) then a.error
                    else coalesce(m.note, a.error) end, j.parent, j.parent_key, j.parent_n
          from unnest(p_jobs) u (id)
          left join job_%1$s j on j.id = u.id
          left join amendment_%1$s m on m.job_id = u.id
          left join lateral (select x.* from attempt_%1$s x
                              where x.job_id = u.id order by x.attempt desc limit 1) a on true
          left join lateral (select x.first_place + x.length > job_place(u.id) as has from streak_%1$s x
                              where a.job_id is null and x.first_place <= job_place(u.id)
                              order by x.first_place desc limit 1) k on true
          cross join lateral (
            select case when j.id is null then 'unknown'
                        when attempt_is_end(a.state, a.attempt, m.revived_after) then a.state::text
                        when k.has and attempt_is_end('succeeded', 1, m.revived_after) then 'succeeded'
                        when m.closed_at is not null then m.closed_as::text
                        when coalesce(m.start_by, j.start_by) <= clock_now()
                          or exists (select from lane_purge p
                                      where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources))
                        then job_state(u.id) end as state) s
         where s.state = 'unknown' or state_is_final(s.state);
      end $body$ $function$, lpad(i::text, 2, '0'), v_columns);
  end loop;
  execute 'create or replace function outcomes_read(p_slot smallint, p_jobs bigint[]) returns table ' || v_columns
    || ' language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return query select * from outcomes_read_%s(p_jobs);', i,
                                 lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;
