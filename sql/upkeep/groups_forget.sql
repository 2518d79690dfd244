-- groups_forget: delete cursors of groups that have no ticket left, not even a passed one: who finds such a group again
-- opens a new one. Any process may call it. Looks at p_limit cursors at most, from a random one on, and not at those
-- that moved lately. Returns how many were deleted. Also forgets buckets that are full again. Locks: lanes (skipped
-- when taken). Writes: lane_cursor, bucket.
create or replace function groups_forget(p_limit int default 10000) returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '100ms'
  set enable_seqscan = off as $$
declare
  v_from bigint := hashint8extended((random() * 1e15)::bigint, 0);
  v_child bigint := ring_turn(xmax_now());
  v_tracks bigint[];
  v_lane bigint;
  v_gone int;
  v_n int := 0;
begin
  perform isolation_check('maintenance');
  delete from bucket where full_at <= clock_now();
  v_tracks := array(
    select c.track from (
      (select c.track, c.lane, c.head_xid from lane_cursor c where c.track >= v_from order by c.track limit p_limit)
        union all
      (select c.track, c.lane, c.head_xid from lane_cursor c where c.track < v_from order by c.track limit p_limit)
        limit p_limit) c
     where c.lane is not null
       and ring_turn(c.head_xid) < v_child
       and not exists (select from ticket t where t.lane = c.track));
  for v_lane in
    select distinct c.lane from unnest(v_tracks) u (track)
      join lane_cursor c on c.track = u.track
     order by 1
  loop
    continue when not pg_try_advisory_xact_lock(lane_lock(v_lane));
    delete from lane_cursor c
     where c.track = any (v_tracks) and c.lane = v_lane and not exists (select from ticket t where t.lane = c.track);
    get diagnostics v_gone = row_count;
    v_n := v_n + v_gone;
  end loop;
  return v_n;
exception when lock_not_available then  -- somebody empties a child or rewrites the table
  return 0;
end $$;
