-- lane_discover: turn scouts into lanes with a cursor at the oldest ticket they can have, and wake those that rest. Any
-- process may call it. For given queues it waits for others who do the same, so that a claim sees their lanes, if
-- p_wait; else, and for all queues (null), it skips what is in somebody's hands, and waits for nobody.
-- p_most: so many scouts at most. Of types that share a hash the first is the lane's (lane_scout refuses the other).
-- Locked before they are deleted: who finds them gone after that wait has written nothing, and may still wait for a
-- lane.
-- Locks: scout rows, then births of lanes in key order. Writes: lane, lane_cursor, scout.
create or replace function lane_discover(p_queue_ids int[] default null, p_most int default null,
  p_wait boolean default true) returns int
language plpgsql set enable_seqscan = off as $$
declare
  v_scouts tid[] := case
    when p_queue_ids is null then array(select ctid from scout limit p_most for update skip locked)
    when p_wait then array(select ctid from scout where queue_id = any (p_queue_ids) limit p_most for update)
    else array(select ctid from scout where queue_id = any (p_queue_ids) limit p_most for update skip locked) end;
  v_lanes bigint[] := array(select distinct lane from scout where ctid = any (v_scouts) order by lane);
  v_new bigint[];
  v_grouped bigint[];
begin
  if p_queue_ids is null or not p_wait then
    v_lanes := array(select lane from unnest(v_lanes) lane where pg_try_advisory_xact_lock(lane_birth(lane)));
  else
    perform pg_advisory_xact_lock(lane_birth(lane)) from unnest(v_lanes) lane;
  end if;
  with gone as (
    delete from scout where ctid = any (v_scouts) and lane = any (v_lanes) returning *
  ), told as (
    select lane, queue_id, type, priority, resources, bool_or(grouped) as grouped, bool_or(costs) as costs,
      bool_or(heavy) as heavy from gone group by 1, 2, 3, 4, 5
  ), known as (
    insert into lane as l (key, queue_id, type, priority, resources, grouped, costs, heavy, born_xid, woken_at)
    select distinct on (lane) lane, queue_id, type, priority, resources, grouped, costs, heavy, xid_now(), clock_now()
      from told order by lane
    on conflict (key) do update set grouped = l.grouped or excluded.grouped, costs = l.costs or excluded.costs,
      heavy = l.heavy or excluded.heavy,
        born_xid = case when excluded.grouped and not l.grouped or excluded.costs and not l.costs then excluded.born_xid
          else l.born_xid end,
        woken_at = case when l.rest_xid is not null then excluded.woken_at else l.woken_at end, rest_xid = null,
          is_asleep = false
      where (excluded.grouped and not l.grouped) or (excluded.costs and not l.costs) or (excluded.heavy and not l.heavy)
        or l.rest_xid is not null
    returning l.key, l.grouped)
  select array_agg(key), array_agg(key) filter (where grouped) into v_new, v_grouped from known;
  if v_new is null then
    return 0;
  end if;
  perform tracks_open(array(select t from unnest(v_new) k cross join lateral (values (k), (k + 1)) track (t)
    union all select k + 2 from unnest(v_grouped) k order by 1), null);
  return cardinality(v_new);
end $$;

-- tracks_open: give tracks that have no cursor one (track_starts).
-- Writes: lane_cursor.
create or replace function tracks_open(p_tracks bigint[], p_lane bigint) returns void
language plpgsql set enable_seqscan = off set enable_nestloop = on as $$
begin
  insert into lane_cursor (track, seq, head_xid, lane)
  select s.track, 1, s.head_xid, p_lane
    from track_starts(array(select u.key from unnest(p_tracks) u (key)
      where not exists (select from lane_cursor c where c.track = u.key))) s;
end $$;

-- track_starts: for tracks without a cursor, where one may stand that no ticket and no running producer is behind. In
-- the order given.
create or replace function track_starts(p_tracks bigint[]) returns table (track bigint, head_xid bigint)
language plpgsql volatile set enable_seqscan = off set enable_nestloop = on as $$
declare
  -- In this order: a child that is empty now may get its first tickets before the next statement looks, but they are
  -- of transactions that run, or are still to come.
  v_low constant bigint := xmin_now();
  v_children constant smallint[] := array(select c from generate_series(0, 7) c
    where (select true from ticket t where t.slot = c limit 1));  -- as a join it would read all of them
begin
  return query
  select u.key, least(v_low, (
           select min(first.xid) from unnest(v_children) child cross join lateral (
             select t.xid from ticket t where t.slot = child and t.lane = u.key order by t.xid limit 1) first))
    from unnest(p_tracks) with ordinality u (key, i) order by u.i;
end $$;
