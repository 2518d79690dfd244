-- lanes_rest: put lanes of crowded queues to rest that have nothing and were not woken lately, p_most at a time, and
-- look after those that rest. Any process may call it, in a transaction of its own. Returns how many changed. Locks:
-- lane rows, skipped when taken. Writes: lane.
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
  for v_queue in
    select q.id from queue q
     where exists (select from lane k where k.queue_id = q.id and k.rest_xid is null offset crowd_from())
     order by random() limit 10
  loop
    v_keys := array(
      select x.key from (
        (select k.key, k.woken_at from lane k
          where k.queue_id = v_queue and k.rest_xid is null and k.place >= v_from limit p_most)
        union all
        (select k.key, k.woken_at from lane k
          where k.queue_id = v_queue and k.rest_xid is null and k.place < v_from limit p_most) limit p_most) x
       where x.woken_at < v_now - interval '10 seconds');
    v_keys := lanes_empty(v_keys);
    v_keys := array(select k.key from lane k
                     where k.key = any (v_keys) and k.rest_xid is null
                     order by k.key for update skip locked);
    v_keys := lanes_empty(v_keys);
    update lane set rest_xid = -xid_now() where key = any (v_keys);
    get diagnostics v_n = row_count;
    v_changed := v_changed + v_n;
  end loop;
  return v_changed;
end $$;

-- lanes_settle: of lanes that rest, wake those that have something after all, and let those sleep that everybody knows
-- to rest. Returns how many changed. Locks: lane rows, skipped when taken. Writes: lane.
create or replace function lanes_settle(p_most int) returns int
language plpgsql set enable_seqscan = off as $$
declare
  v_low constant bigint := xmin_now();
  v_keys bigint[];
  v_empty bigint[];
  v_told int;
  v_n int;
begin
  v_keys := array(select key from lane
                   where rest_xid is not null and not is_asleep
                   order by rest_xid, random() limit p_most for update skip locked);
  if v_keys = '{}' then
    return 0;
  end if;
  v_empty := lanes_empty(v_keys);
  update lane set rest_xid = null, woken_at = clock_now() where key = any (v_keys) and key <> all (v_empty);
  get diagnostics v_n = row_count;
  update lane set is_asleep = rest_xid > 0, rest_xid = case when rest_xid < 0 then xid_now() else rest_xid end
   where key = any (v_empty) and rest_xid <= v_low and rest_xid <> -xid_now();
  get diagnostics v_told = row_count;
  return v_n + v_told;
end $$;

-- lanes_empty: which of some lanes have nothing that waits or runs, as far as can be seen, and nothing pending: no
-- purge, no range set aside, no announcement.
create or replace function lanes_empty(p_lanes bigint[]) returns bigint[]
language plpgsql volatile set enable_seqscan = off as $$
begin
  return array(
    select k.key from unnest(p_lanes) u (key) join lane k on k.key = u.key
     where not exists (
             select from (values (k.key), (again_of(k.key))) track (key)
               left join lateral (select * from lane_cursor c
                                   where c.track = track.key
                                   order by c.seq desc limit 1) c on true
              where c.track is null
                 or exists (select from unnest(c.late) late
                              join ticket n on n.lane = track.key and n.xid = late.xid
                             where n.id > late.ticket or n.id = late.ticket and cardinality(n.jobs) > late.skip)
                 or exists (
                   select from ticket n
                    where n.lane = track.key
                      and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
                      and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)))
       and not exists (select from agenda a where a.lane = k.key)
       and not exists (select from lane_purge p where p.lane = k.key and (p.is_open or p.leftover))
       and not exists (select from aside r where r.lane = k.key)
       and k.key <> all (array(select o.lane from postponed o))
       and not exists (select from spare o where o.lane = k.key)
       and k.key <> all (array(select c.lane from claim c))
       and k.key <> all (array(select s.lane from scout s))
       and not (k.grouped and exists (select from lane_waiting(k.key, 1))));
end $$;
