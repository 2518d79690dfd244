-- Lanes that rest. A queue may have had very many types or sets of resources; each is a lane, and a claim cannot look at all of them. In a queue with more lanes than a claim looks at (crowd_from), those that
-- have nothing are put to rest: claims look at them no more, and whoever enqueues into one announces it as if it were new (lane_scout), which wakes it (lane_discover).
--
-- Who enqueued without seeing that a lane rests has not announced it. But its transaction had its number before it looked. So whoever first sees the rest committed, and gets a number after that, has a higher one than
-- all of those (rest_xid); until every transaction below it has ended, the lane is looked at from time to time, and then once more: if it still has nothing it is asleep, and nobody looks again. A scout is written
-- together with the job, so what comes later is announced. In repeatable read a snapshot may be older than its number; there every lane is announced.
--
-- The row of a lane is locked while that is decided, and so it is by who wakes it: neither can miss the other.

-- crowd_from: with so many lanes that do not rest, a queue is crowded: a claim looks at some of them by chance (lanes_window).
create or replace function crowd_from() returns int
language sql immutable parallel safe as $$ select 64 $$;

-- lanes_rest: put lanes of crowded queues to rest that have nothing and were not woken lately, p_most at a time, and look after those that rest. Any process may call it, in a transaction of its own.
-- Returns how many changed. Locks: lane rows, skipped when taken. Writes: lane.
create or replace function lanes_rest(p_most int default 5000) returns int
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_from constant int := random() * 2147483647;
  v_now constant timestamptz := clock_now();
  v_queue int;
  v_keys bigint[];
  v_n int;
  v_changed int := 0;
begin
  perform isolation_check('maintenance');
  v_changed := lanes_settle(p_most);
  for v_queue in select q.id from queue q where exists (select from lane k where k.queue_id = q.id and k.rest_xid is null offset crowd_from()) order by random() limit 10 loop
    v_keys := array(
      select x.key from (
        (select k.key, k.woken_at from lane k where k.queue_id = v_queue and k.rest_xid is null and k.place >= v_from limit p_most) union all
        (select k.key, k.woken_at from lane k where k.queue_id = v_queue and k.rest_xid is null and k.place < v_from limit p_most) limit p_most) x
       where x.woken_at < v_now - interval '10 seconds');
    v_keys := lanes_empty(v_keys);
    v_keys := array(select k.key from lane k where k.key = any (v_keys) and k.rest_xid is null order by k.key for update skip locked);
    v_keys := lanes_empty(v_keys);
    update lane set rest_xid = -xid_now() where key = any (v_keys);
    get diagnostics v_n = row_count;
    v_changed := v_changed + v_n;
  end loop;
  return v_changed;
end $$;

-- lanes_settle: of lanes that rest, wake those that have something after all, and let those sleep that everybody knows to rest. Returns how many changed. Locks: lane rows, skipped when taken. Writes: lane.
create or replace function lanes_settle(p_most int) returns int
language plpgsql set enable_seqscan = off as $$
declare
  v_low constant bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  v_keys bigint[];
  v_empty bigint[];
  v_told int;
  v_n int;
begin
  v_keys := array(select key from lane where rest_xid is not null and not is_asleep order by rest_xid, random() limit p_most for update skip locked);
  if v_keys = '{}' then
    return 0;
  end if;
  v_empty := lanes_empty(v_keys);
  update lane set rest_xid = null, woken_at = clock_now() where key = any (v_keys) and key <> all (v_empty);
  get diagnostics v_n = row_count;
  update lane set is_asleep = rest_xid > 0, rest_xid = case when rest_xid < 0 then xid_now() else rest_xid end where key = any (v_empty) and rest_xid <= v_low and rest_xid <> -xid_now();
  get diagnostics v_told = row_count;
  return v_n + v_told;
end $$;

-- lanes_empty: of some lanes, those in which nothing waits or runs that can be seen, and about which nobody has anything to say.
create or replace function lanes_empty(p_lanes bigint[]) returns bigint[]
language plpgsql volatile set enable_seqscan = off as $$
begin
  return array(
    select k.key from unnest(p_lanes) u (key) join lane k on k.key = u.key
     where not exists (
             select from (values (k.key), (k.key + 1)) track (key) left join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c on true
              where c.track is null
                 or exists (select from unnest(c.late_xids, c.late_tickets, c.late_offsets) late (xid, ticket, skip) join ticket n on n.lane = track.key and n.xid = late.xid
                             where n.id > late.ticket or n.id = late.ticket and cardinality(n.jobs) > late.skip)
                 or exists (
                select from ticket n where n.lane = track.key and n.xid >= c.head_xid and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
                   and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)))
       and not exists (select from agenda a where a.lane = k.key)
       and not exists (select from lane_purge p where p.lane = k.key and (p.is_open or p.leftover))
       and not exists (select from aside r where r.lane = k.key)
       and k.key <> all (array(select o.lane from postponed o)) and k.key <> all (array(select c.lane from claim c)) and k.key <> all (array(select s.lane from scout s))
       and not (k.grouped and exists (select from lane_waiting(k.key, 1))));
end $$;

-- lanes_forget: delete lanes that sleep and have no ticket left, not even a passed one, with their cursors: who enqueues into one finds no lane, and announces a new one. Any process may call it.
-- Returns how many. Locks: lane rows, skipped when taken. Writes: lane, lane_cursor, lane_depth.
create or replace function lanes_forget(p_most int default 10000) returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  v_from constant bigint := hashint8extended((random() * 1e15)::bigint, 0);
  v_keys bigint[];
begin
  perform isolation_check('maintenance');
  v_keys := array(
    select x.key from ((select key from lane where is_asleep and key >= v_from order by key limit p_most) union all (select key from lane where is_asleep and key < v_from order by key limit p_most) limit p_most) x
     where not exists (select from (values (x.key), (x.key + 1), (x.key + 2)) track (key) join ticket t on t.lane = track.key)
       and not exists (select from lane_cursor c where c.lane = x.key));
  v_keys := array(select key from lane where key = any (v_keys) and is_asleep order by key for update skip locked);
  delete from lane_cursor c where c.track = any (array(select t from unnest(v_keys) k cross join lateral (values (k), (k + 1), (k + 2)) track (t)));
  delete from lane_depth d where d.lane = any (v_keys) and (d.ready, d.delayed, d.staged) = (0, 0, 0);
  delete from lane where key = any (v_keys);
  return cardinality(v_keys);
exception when lock_not_available then  -- somebody empties a child or rewrites a table
  return 0;
end $$;

-- lanes_window: some lanes of crowded queues, from a place on, at most p_most of each queue and priority; for given types, of each of them.
create or replace function lanes_window(p_queue_ids int[], p_types text[], p_from int, p_most int) returns bigint[]
language plpgsql stable as $$
begin
  if p_types is null then
    return array(
      select w.key from unnest(p_queue_ids) q (id) cross join generate_series(0, 10) p cross join lateral (
        (select k.key from lane k where k.queue_id = q.id and k.priority = p and k.rest_xid is null and k.place >= p_from order by k.place limit p_most) union all
        (select k.key from lane k where k.queue_id = q.id and k.priority = p and k.rest_xid is null and k.place < p_from order by k.place limit p_most) limit p_most) w);
  end if;
  return array(
    select x.key from (
      select w.key, row_number() over (partition by q.id, w.priority order by w.place < p_from, w.place) as n
        from unnest(p_queue_ids) q (id) cross join (select distinct unnest(p_types) as type) t cross join generate_series(0, 10) p cross join lateral (
          (select k.key, k.priority, k.place from lane k
            where k.queue_id = q.id and k.type = t.type and k.priority = p and k.rest_xid is null and k.place >= p_from order by k.place limit p_most) union all
          (select k.key, k.priority, k.place from lane k
            where k.queue_id = q.id and k.type = t.type and k.priority = p and k.rest_xid is null and k.place < p_from order by k.place limit p_most)) w) x
     where x.n <= p_most);
end $$;
