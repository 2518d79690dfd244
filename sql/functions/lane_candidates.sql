-- lane_candidates: lanes that may have something to claim, in the order to try them, with the lease of their type, what a claim tells of them,
-- what limits them (lane_room), and how those that have groups treat them (turns_take).
-- By priority, then by the oldest job; where there are groups, by who has been in line the longest.
-- Lanes of which something was set aside (p_aside: there are some) come a second time, at the end, as key + 3.
-- In columns, which costs less than rows. Without locks, so only a hint: lane_take decides. One lane alone is not probed.
create or replace function lane_candidates(p_queue_ids int[], p_types text[], p_cell jsonb, p_aside boolean,
  out keys bigint[], out abouts text[], out leases float8[], out factors float8[], out caps float8[], out limits jsonb[], out groupings jsonb[], out freshness float8[])
language plpgsql volatile as $$
declare
  v_grouped boolean;
begin
  select array_agg(k.key), array_agg(k.about), array_agg(coalesce((k.options ->> 'leaseSeconds')::float8, 30)),
         array_agg((k.options ->> 'leaseFactor')::float8), array_agg((k.options ->> 'leaseCapSeconds')::float8), array_agg(k.limits),
         array_agg(k.grouping), array_agg(k.freshness)
    into keys, abouts, leases, factors, caps, limits, groupings, freshness
    from (select k.key, case when k.grouped then jsonb_strip_nulls(jsonb_build_object('queue', q.id, 'ordered', nullif(q.options -> 'ordered', 'false'), 'most', q.options -> 'groupMaxRunning')) end as grouping, '"queue":' || to_json(q.name) || ',"type":' || to_json(k.type) || ',"priority":' || k.priority as about,
                 p_cell || q.options || coalesce(ty.options, '{}') as options,
                 case when q.options ? 'maxRunning' or ty.options ? 'maxRunning'
                      then jsonb_build_object('queue', q.id, 'ofQueue', q.options -> 'maxRunning', 'type', k.type, 'ofType', ty.options -> 'maxRunning') end as limits,
                 (q.options ->> 'freshnessSeconds')::float8 as freshness
            from unnest(p_queue_ids) u (id) join queue q on q.id = u.id and q.paused_at is null
            join lane k on k.queue_id = q.id left join job_type ty on ty.type = k.type
           where (p_types is null or k.type = any (p_types))
             and not exists (select from pause z where z.queue_id = q.id and z.type = k.type and z.group_key is null)
           order by k.priority, k.key) k;
  if cardinality(keys) > 1 or p_aside then
    v_grouped := array_remove(groupings, null) <> '{}';
    select array_agg(c.key), array_agg(c.about), array_agg(c.lease), array_agg(c.factor), array_agg(c.cap), array_agg(c.limits), array_agg(c.grouping), array_agg(c.freshness)
      into keys, abouts, leases, factors, caps, limits, groupings, freshness
      from (
        select u.key + first.part as key, u.about, u.lease, u.factor, u.cap, u.limits, u.grouping, u.freshness
          from unnest(keys, abouts, leases, factors, caps, limits, groupings, freshness) u (key, about, lease, factor, cap, limits, grouping, freshness) join lane l on l.key = u.key cross join lateral (
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
         order by first.part, l.priority, first.oldest, u.key) c;
  end if;
end $$;
