-- queue_types: how much of a queue waits, ready and blocked apart, is delayed and runs for each type, and since when
-- the oldest ready job of the type waits. Costs the same at any backlog, like queue_depth. Jobs that came due are
-- delayed here until they are promoted. Lanes nobody has claimed from yet have no age. Raises: MR003.
create or replace function queue_types(p_queue text default 'default')
returns table (type text, waiting bigint, ready bigint, blocked bigint, delayed bigint, running bigint,
  oldest_ready_at timestamptz, oldest_age_seconds float8)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_now constant timestamptz := clock_now();
  v_held constant boolean := queue_held(v_id);
  v_types constant text[] := array(select b.type from type_blocked b where b.queue_id = v_id and b.until > v_now);
  v_groups constant boolean := exists (select from pause z where z.queue_id = v_id and z.group_key is not null);
begin
  return query
  select x.type, x.waiting, x.waiting - b.jobs, b.jobs, x.delayed, x.running,
         case when x.waiting > b.jobs then x.oldest end,
         case when x.waiting > b.jobs then age_seconds(v_now, x.oldest) end
    from (select l.type, greatest(sum(d.ready), 0)::bigint as waiting, greatest(sum(d.delayed), 0)::bigint as delayed,
                 sum(d.running)::bigint as running, min(d.oldest) as oldest
            from lane_known l cross join lateral (
              select coalesce(sum(n.ready), 0) as ready, coalesce(sum(n.delayed), 0) as delayed,
                     (select coalesce(sum(cardinality(c.jobs)), 0) from claim c where c.lane = l.key) as running,
                     case when not v_held and l.type <> all (v_types)
                       then (select greatest(job_created_at(j.id), j.run_at) from lane_oldest(l.key) o (id)
                              cross join lateral (
                                select * from job j where j.slot = job_slot(o.id) and j.id = o.id offset 0) j
                              where job_state(o.id) = 'ready') end as oldest
                from (select lane, t.ready, t.delayed from lane_depth t
                      union all
                      select lane, t.ready, t.delayed from tally t) n
               where n.lane = l.key) d
           where l.queue_id = v_id group by l.type) x
    cross join lateral (
      select least(x.waiting, case when v_held or x.type = any (v_types) then x.waiting
                                   when v_groups and x.waiting > 0 then jobs_blocked(v_id, x.type)
                                   else 0 end) as jobs) b
   order by x.type;
end $$;
