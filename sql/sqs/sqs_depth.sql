-- sqs_depth: how many messages are visible, invisible and delayed; jobs of other types are none. A message whose
-- visibility timeout has ended is visible, whether or not its claim was reaped, and so is one that came due. Costs the
-- same at any backlog, like queue_depth. Raises: MR003.
create or replace function sqs_depth(p_queue text, out visible bigint, out invisible bigint, out delayed bigint)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_lanes constant bigint[] := array(select key from lane_known where queue_id = v_id and type = 'message');
  v_now constant timestamptz := clock_now();
  v_due bigint;
  v_ended bigint;
begin
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0) into visible, delayed
    from (select lane, x.ready, x.delayed from lane_depth x union all select lane, y.ready, y.delayed from tally y) d
   where d.lane = any (v_lanes);
  select count(*) into v_due from (select * from agenda a where a.due_at <= v_now order by a.due_at limit 10000) g
   where (g.chain = 1) is not true and g.lane = any (v_lanes) and not agenda_dropped((g.*)::agenda);
  select coalesce(sum(cardinality(c.jobs)) filter (where c.until > v_now), 0),
         coalesce(sum(cardinality(c.jobs)) filter (where c.until <= v_now), 0)
    into invisible, v_ended
    from claim c where c.lane = any (v_lanes);
  visible := greatest(visible + v_due, 0) + v_ended;
  delayed := greatest(delayed - v_due, 0);
end $$;
