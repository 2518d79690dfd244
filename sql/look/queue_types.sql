-- queue_types: how much of a queue waits, is delayed and runs for each type, and since when the oldest ready job of the
-- type waits. Costs the same at any backlog, like queue_depth. Jobs that came due are delayed here until they are
-- promoted. Lanes nobody has claimed from yet have no age. Raises: MR003.
create or replace function queue_types(p_queue text default 'default')
returns table (type text, waiting bigint, delayed bigint, running bigint, oldest_ready_at timestamptz,
  oldest_age_seconds float8)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_now constant timestamptz := clock_now();
begin
  return query
  select x.type, x.waiting, x.delayed, x.running, x.oldest, age_seconds(v_now, x.oldest)
    from (select l.type, greatest(sum(d.ready), 0)::bigint as waiting, greatest(sum(d.delayed), 0)::bigint as delayed,
                 sum(d.running)::bigint as running, min(d.oldest) as oldest
            from lane_known l cross join lateral (
              select coalesce(sum(n.ready), 0) as ready, coalesce(sum(n.delayed), 0) as delayed,
                     (select coalesce(sum(cardinality(c.jobs)), 0) from claim c where c.lane = l.key) as running,
                     (select greatest(job_created_at(j.id), j.run_at) from lane_oldest(l.key) o (id)
                        join job j on j.slot = job_slot(o.id) and j.id = o.id
                       where counts_as_ready(job_state(j.id))) as oldest
                from (select lane, t.ready, t.delayed from lane_depth t
                      union all
                      select lane, t.ready, t.delayed from tally t) n
               where n.lane = l.key) d
           where l.queue_id = v_id group by l.type) x
   order by x.type;
end $$;
