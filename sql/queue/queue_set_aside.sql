-- queue_set_aside: set aside what waits in a queue, or only jobs of one type of it: jobs that come now go first, and
-- what was set aside is handed out when there are no others, oldest first. The cost does not depend on how much it is.
-- Jobs that are delayed, or of transactions still open, are not part of it. Returns how many jobs now wait set aside.
-- Locks: the lanes. Writes: aside, lane_cursor. Raises: MR001 where jobs have groups, MR003, MR007.
create or replace function queue_set_aside(p_queue text, p_type text default null) returns bigint
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_lanes bigint[];
begin
  perform isolation_check('setting jobs aside');
  perform lane_discover(array[v_queue_id]);
  perform groups_refuse(v_queue_id, p_type);
  v_lanes := array(select key from lane where queue_id = v_queue_id and (p_type is null or type = p_type) order by key);
  perform pg_advisory_xact_lock(lane_lock(lane)) from unnest(v_lanes) lane;
  perform lane_set_aside(lane) from unnest(v_lanes) lane;
  return (select coalesce(sum(d.ready), 0)
            from (select lane, ready from lane_depth union all select lane, ready from tally) d
           where d.lane = any (v_lanes));
end $$;

-- groups_refuse: what is set aside is one range without turns: in it, groups that share by turns would stand one behind
-- another. Raises: MR001.
create or replace function groups_refuse(p_queue_id int, p_type text default null) returns void
language plpgsql as $$
begin
  if exists (select from lane where queue_id = p_queue_id and grouped and (p_type is null or type = p_type))
     or exists (select from scout where queue_id = p_queue_id and grouped and (p_type is null or type = p_type)) then
    perform raise_error('MR001', 'what waits in groups cannot be set aside',
      'groups share by turns already: use a queue without groups, or pause the group that floods it');
  end if;
end $$;
