-- lane_candidates: lanes that may have something to claim, in the order to try them, with the lease of their type.
-- Without locks, so only a hint: lane_take decides. One lane alone is not probed.
create or replace function lane_candidates(p_queue_ids int[], p_types text[], p_cell jsonb)
returns table (key bigint, lease float8, factor float8, cap float8)
language plpgsql volatile as $$
declare
  v_keys bigint[];
  v_options jsonb[];
  v_order int[];
  i int;
begin
  select array_agg(k.key order by k.priority, k.key), array_agg(p_cell || q.options || coalesce(ty.options, '{}') order by k.priority, k.key)
    into v_keys, v_options
    from unnest(p_queue_ids) u (id) join queue q on q.id = u.id and q.paused_at is null
    join lane k on k.queue_id = q.id left join job_type ty on ty.type = k.type
   where p_types is null or k.type = any (p_types);
  if cardinality(v_keys) > 1 then
    v_order := array(
      select u.i from unnest(v_keys) with ordinality u (key, i) join lane l on l.key = u.key cross join lateral (
        select min(coalesce(n.job, case when c.late_xids <> '{}' then 0 end)) as oldest
          from (values (u.key), (u.key + 1)) track (key)
          cross join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c
          left join lateral (
            select n.jobs[1] as job from ticket n
             where n.lane = track.key and n.xid >= c.head_xid and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
               and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)
             order by n.xid, n.id limit 1) n on true) first
       where first.oldest is not null
       order by l.priority, first.oldest, u.key);
  elsif v_keys is not null then
    v_order := '{1}';
  end if;
  foreach i in array coalesce(v_order, '{}') loop
    key := v_keys[i];
    lease := coalesce((v_options[i] ->> 'leaseSeconds')::float8, 30);
    factor := (v_options[i] ->> 'leaseFactor')::float8;
    cap := (v_options[i] ->> 'leaseCapSeconds')::float8;
    return next;
  end loop;
end $$;
