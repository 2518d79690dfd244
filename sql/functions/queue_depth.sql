-- queue_depth: how much waits and runs, and since when the oldest ready job waits. Costs the same at any backlog:
-- folded counts, the deltas not folded yet, the live claims, and one probe per lane. Raises: MR003.
create or replace function queue_depth(p_queue text default 'default',
  out ready bigint, out blocked bigint, out delayed bigint, out running bigint, out oldest_ready_at timestamptz, out oldest_age_seconds float8)
language plpgsql security definer set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  v_id int := queue_id(p_queue);
  v_paused boolean;
begin
  if exists (select from scout) then
    perform lane_discover();
  end if;
  select paused_at is not null into v_paused from queue where id = v_id;
  select greatest(coalesce(sum(d.ready), 0), 0), greatest(coalesce(sum(d.delayed), 0), 0) into ready, delayed
    from (select lane, x.ready, x.delayed from lane_depth x union all select lane, y.ready, y.delayed from tally y) d
   where d.lane in (select key from lane where queue_id = v_id union select lane from scout where queue_id = v_id);
  select coalesce(sum(cardinality(c.jobs)), 0) into running from claim c join lane l on l.key = c.lane where l.queue_id = v_id;
  if ready > 0 then
    select min(greatest(job_created_at(j.id), j.run_at)) into oldest_ready_at
      from (select lane_oldest(l.key) as job from lane l where l.queue_id = v_id) first
      join job j on j.slot = job_slot(first.job) and j.id = first.job;
    oldest_age_seconds := greatest(0, date_part('epoch', clock_now() - oldest_ready_at));
  end if;
  blocked := 0;
  if v_paused then
    blocked := ready;
    ready := 0;
  end if;
end $$;

-- lane_oldest: the job a claim on this lane would look at first, or null.
create or replace function lane_oldest(p_lane bigint) returns bigint
language plpgsql as $$
declare
  v_job bigint;
begin
  select min(n.job) into v_job
    from (values (p_lane), (p_lane + 1)) track (key)
    cross join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c
    cross join lateral (
      (select n.jobs[case when n.xid = c.head_xid and n.id = c.head_ticket then c.head_offset + 1 else 1 end] as job from ticket n
        where n.lane = track.key and n.xid >= c.head_xid and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
          and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)
        order by n.xid, n.id limit 1)
      union all
      select (select n.jobs[1] from ticket n where n.lane = track.key and n.xid = late.x order by n.id limit 1)
        from unnest(c.late_xids, c.late_tickets) late (x, t) where late.t = 0) n;
  return v_job;
end $$;
