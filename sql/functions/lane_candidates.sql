-- lane_candidates: lanes that may have something to claim, in the order to try them, with the lease of their type, what a claim tells of them,
-- what limits them (lane_room), and how those that have groups treat them (turns_take).
-- By priority, then by the oldest job; where there are groups, by who has been in line the longest. With agingSeconds, a lane is one step more urgent for each time that its next job has waited.
-- Lanes of which something was set aside (p_aside: there are some) come a second time, at the end, as key + 3.
-- In columns, which costs less than rows. Without locks, so only a hint: lane_take decides. One lane alone is not probed.
create or replace function lane_candidates(p_queue_ids int[], p_types text[], p_cell jsonb, p_aside boolean,
  out keys bigint[], out abouts text[], out leases float8[], out factors float8[], out caps float8[], out limits jsonb[], out groupings jsonb[], out freshness float8[])
language plpgsql volatile as $$
declare
  v_grouped boolean;
  v_agings float8[];
begin
  select array_agg(k.key), array_agg(k.about), array_agg(coalesce((k.options ->> 'leaseSeconds')::float8, 30)),
         array_agg((k.options ->> 'leaseFactor')::float8), array_agg((k.options ->> 'leaseCapSeconds')::float8), array_agg(k.limits),
         array_agg(k.grouping), array_agg(k.freshness), array_agg((k.options ->> 'agingSeconds')::float8)
    into keys, abouts, leases, factors, caps, limits, groupings, freshness, v_agings
    from (select k.key, case when k.grouped then jsonb_strip_nulls(jsonb_build_object('queue', q.id, 'ordered', nullif(q.options -> 'ordered', 'false'), 'most', q.options -> 'groupMaxRunning', 'rate', q.options -> 'groupRate', 'costs', nullif(k.costs, false),
                   'own', (select true from group_setting s where s.queue_id = q.id and (s.max_running is not null or s.rate is not null) limit 1))) end as grouping, '"queue":' || to_json(q.name) || ',"type":' || to_json(k.type) || ',"priority":' || k.priority as about,
                 p_cell || q.options || coalesce(ty.options, '{}') as options,
                 case when q.options ?| '{maxRunning,rate}' or ty.options ?| '{maxRunning,rate}' or k.resources is not null or b.open_until is not null
                      then lane_limits(q.id, q.options, k.type, ty.options, k.resources, b.open_until is not null) end as limits,
                 (q.options ->> 'freshnessSeconds')::float8 as freshness
            from unnest(p_queue_ids) u (id) join queue q on q.id = u.id and q.paused_at is null
            join lane k on k.queue_id = q.id left join job_type ty on ty.type = k.type
            left join lateral (select e.open_until from breaker_event e where (q.options ? 'breaker' or ty.options ? 'breaker')
                and e.queue_id = q.id and e.type = k.type and e.kind <> 'failed' order by e.id desc limit 1) b on true
           where (p_types is null or k.type = any (p_types))
             and not exists (select from pause z where z.queue_id = q.id and coalesce(z.type = k.type, true) and z.group_key is null)
             and not (q.options ? 'waitsFor' and queue_waits(k.queue_id) is not null)
             and (b.open_until > clock_now()) is not true
           order by k.priority, k.key) k;
  if cardinality(keys) > 1 or p_aside then
    v_grouped := array_remove(groupings, null) <> '{}';
    select array_agg(c.key), array_agg(c.about), array_agg(c.lease), array_agg(c.factor), array_agg(c.cap), array_agg(c.limits), array_agg(c.grouping), array_agg(c.freshness)
      into keys, abouts, leases, factors, caps, limits, groupings, freshness
      from (
        select u.key + first.part as key, u.about, u.lease, u.factor, u.cap, u.limits, u.grouping, u.freshness
          from unnest(keys, abouts, leases, factors, caps, limits, groupings, freshness, v_agings) u (key, about, lease, factor, cap, limits, grouping, freshness, aging) join lane l on l.key = u.key cross join lateral (
          select 0 as part, min(coalesce(case when v_grouped then n.xid else n.job end, case when c.late_xids <> '{}' then 0 end)) as oldest
            from (values (u.key), (u.key + 1), (case when u.grouping is not null then u.key + 2 end)) track (key)
            cross join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c
            left join lateral (
              select n.jobs[1] as job, n.xid from ticket n
               where n.lane = track.key and n.xid >= c.head_xid and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
                 and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)
               order by n.xid, n.id limit 1) n on true
          union all
          select 3, min(r.n) from aside r where p_aside and r.lane = u.key) first
         where first.oldest is not null
         order by first.part, case when u.aging is null then l.priority else l.priority - floor(lane_age(u.key) / u.aging) end, first.oldest, u.key) c;
  end if;
end $$;
