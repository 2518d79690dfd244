-- lanes_forget: delete lanes that sleep and have no ticket left, not even a passed one, with their cursors: who
-- enqueues into one finds no lane, and announces a new one. Any process may call it. Returns how many. Locks: lane
-- rows, skipped when taken. Writes: lane, lane_cursor, lane_depth.
create or replace function lanes_forget(p_most int default 10000) returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '100ms'
  set enable_seqscan = off as $$
declare
  v_from constant bigint := hashint8extended((random() * 1e15)::bigint, 0);
  v_keys bigint[];
begin
  perform isolation_check('maintenance');
  v_keys := array(
    select x.key
      from ((select key from lane where is_asleep and key >= v_from order by key limit p_most)
            union all
            (select key from lane where is_asleep and key < v_from order by key limit p_most) limit p_most) x
     where not exists (select from (values (x.key), (again_of(x.key)), (line_of(x.key))) track (key)
                         join ticket t on t.lane = track.key)
       and not exists (select from lane_cursor c where c.lane = x.key));
  v_keys := array(select key from lane where key = any (v_keys) and is_asleep order by key for update skip locked);
  delete from lane_cursor c
   where c.track = any (array(select t from unnest(v_keys) k
                                cross join lateral (values (k), (k + 1), (k + 2)) track (t)));
  delete from lane_depth d where d.lane = any (v_keys) and (d.ready, d.delayed, d.staged) = (0, 0, 0);
  delete from lane where key = any (v_keys);
  return cardinality(v_keys);
exception when lock_not_available then  -- somebody empties a child or rewrites a table
  return 0;
end $$;
