-- lane_candidates: lanes that may have something to claim, in the order to try them, with the lease of their type.
-- Without locks, so only a hint: lane_take decides. One lane alone is not probed.
create or replace function lane_candidates(p_queue_ids int[], p_types text[], p_cell jsonb)
returns table (key bigint, lease float8, factor float8, cap float8)
language plpgsql volatile as $$
begin
  return query
  with known as materialized (
    select l.key, l.priority, p_cell || q.options || coalesce(ty.options, '{}') as options, count(*) over () as lanes
      from unnest(p_queue_ids) u (id) join queue q on q.id = u.id and q.paused_at is null
      join lane l on l.queue_id = q.id left join job_type ty on ty.type = l.type
     where p_types is null or l.type = any (p_types)
  )
  select k.key, coalesce((k.options ->> 'leaseSeconds')::float8, 30), (k.options ->> 'leaseFactor')::float8, (k.options ->> 'leaseCapSeconds')::float8
    from known k left join lateral (
      select min(coalesce(n.job, case when c.late_xids <> '{}' then 0 end)) as oldest
        from (values (k.key), (k.key + 1)) track (key)
        cross join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c
        left join lateral (
          select n.jobs[1] as job from ticket n
           where n.lane = track.key and n.xid >= c.head_xid and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
             and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)
           order by n.xid, n.id limit 1) n on true
       where k.lanes > 1) first on true
   where k.lanes = 1 or first.oldest is not null
   order by k.priority, first.oldest, k.key;
end $$;
