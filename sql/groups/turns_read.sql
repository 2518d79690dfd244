-- turns_read: what comes next for each of some groups, at most a quantum each: jobs claimable again first, then late
-- ones, then fresh ones. Moves nothing.
-- p_cursors: those of their fresh tracks, null where there is none yet. One ring child is read at a time; a group that
-- stands in an older one counts as having more. The rules are those of track_read and track_advance, for many tracks in
-- one statement: every transaction that a new head passes is read here, or was running in the snapshot of this
-- statement, or is our own, and is remembered as late. The caller has the lane's lock.
create or replace function turns_read(p_lane bigint, p_keys bigint[], p_quanta int[], p_cursors lane_cursor[])
  returns turns_reading
language plpgsql volatile set enable_nestloop = off set enable_hashjoin = on as $$
declare
  r turns_reading;
  v_own constant bigint := xid_now();
  v_cursors lane_cursor[] := p_cursors;
  v_groups int[] := array(select generate_series(1, cardinality(p_keys)));
  v_new bigint[];
  v_purge lane_purge;
  v_purge_end bigint;
  v_late bigint[];
begin
  v_new := array(select c.key from unnest(p_keys, p_cursors) c (key, track) where c.track is null);
  if v_new <> '{}' then  -- not stored yet: seq 0
    v_cursors := array(
      select case when (p_cursors[k.i]).track is not null then p_cursors[k.i]
                  else (k.key, 0, 0, s.head_xid, 0, 0, p_lane, null, null, null, null, '{}')::lane_cursor end
        from unnest(p_keys) with ordinality k (key, i) left join track_starts(v_new) s on s.track = k.key
       order by k.i);
  end if;
  select v_cursors || coalesce(array_agg(c.c order by u.i), '{}'),
    v_groups || coalesce(array_agg(u.i::int order by u.i), '{}') into v_cursors, v_groups
    from unnest(p_keys) with ordinality u (key, i) cross join lateral (select c from lane_cursor c
      where c.track = again_of(u.key) order by c.seq desc limit 1) c;
  select * into v_purge from lane_purge where lane = p_lane and before is null;
  if found then  -- a purge moves the cursors of groups when their turn comes, as it moved those of the lane itself
    v_purge_end := xmax_of(v_purge.snapshot);
    v_late := array(select x from xids_running(v_purge.snapshot) x)
      || case when v_purge.own_xid < v_purge_end then array[v_purge.own_xid] else '{}' end;
    v_cursors := array(
      select case when c.head_xid >= v_purge_end then v_cursors[c.ordinality]
                  else (c.track, c.seq, c.uses, v_purge_end, 0, 0, c.lane, c.turn, c.credit, c.since, c.served,
                        late_from(v_late))::lane_cursor end
        from unnest(v_cursors) with ordinality c order by c.ordinality);
  end if;

  with snap as materialized (
    -- Our own tickets may carry us past the end of the snapshot; whoever is between is unknown to it, so counts as
    -- running.
    select pg_current_snapshot() as s, ring_turn(greatest(xmax_now(), v_own)) as child,
           array(select x from xids_running(pg_current_snapshot()) x)
           || array(select generate_series(xmax_now(),
             v_own - 1)) as running,
           least(xmin_now(), v_own) as low
  ), found as materialized (
    select c.i, c.g, c.quantum, f.late, f.xid, f.ticket, f.n, f.job, f.attempt, f.version, f.alone, f.bytes,
      ring_turn(start.xid) < snap.child as behind,
           row_number() over (partition by c.g order by f.job is null, c.i desc, f.late desc, f.nth, f.xid, f.ticket,
             f.n) as place
      from (select c.*, c.ordinality as i, v_groups[c.ordinality] as g, p_quanta[v_groups[c.ordinality]] as quantum
              from unnest(v_cursors) with ordinality c offset 0) c
      cross join snap
      cross join lateral (
        select case when ring_turn(c.head_xid) = snap.child then c.head_xid else (
                 select k.xid from ticket k
                  where k.lane = c.track and (k.xid, k.id) >= (c.head_xid, c.head_ticket)
                    and not (k.xid = c.head_xid and k.id = c.head_ticket and cardinality(k.jobs) <= c.head_offset)
                  order by k.xid, k.id limit 1) end as xid offset 0) start
      left join lateral (
        select true as late, l.nth, k.*
          from unnest(c.late) with ordinality l (xid, ticket, n, nth)
          cross join lateral (
            select k.xid, k.id as ticket, generate_subscripts(k.jobs, 1) as n, unnest(k.jobs) as job, k.attempt,
                   k.version, k.alone, coalesce(k.bytes, 2147483647)::bigint / cardinality(k.jobs) as bytes
              from ticket k
             where k.slot = ticket_slot(l.xid) and k.lane = c.track and k.xid = l.xid and k.id >= l.ticket
               and (k.xid = v_purge.own_xid and k.id < v_purge.own_ticket) is not true
             order by k.id limit l.n + c.quantum + 1) k
         where cardinality(c.late) > 0 and (k.ticket, k.n) > (l.ticket, l.n) and l.xid <> v_own
           and xid_seen(l.xid, pg_current_snapshot())
        union all
        select false, 0, k.*
          from (
            select k.xid, k.id as ticket, generate_subscripts(k.jobs, 1) as n, unnest(k.jobs) as job, k.attempt,
                   k.version, k.alone, coalesce(k.bytes, 2147483647)::bigint / cardinality(k.jobs) as bytes
              from ticket k
             where k.slot = ticket_slot(start.xid) and k.lane = c.track and k.xid < ring_turn_end(start.xid)
               and (k.xid, k.id) >= (start.xid, case when start.xid = c.head_xid then c.head_ticket else 0 end)
               and (k.xid = v_purge.own_xid and k.id < v_purge.own_ticket) is not true
             order by k.xid, k.id limit c.head_offset + c.quantum + 1) k
         where (k.xid, k.ticket, k.n) > (c.head_xid, c.head_ticket, c.head_offset)) f on true
  ), taken as (
    select f.i, max(array[f.place, f.xid, f.ticket, f.n]) filter (where not f.late and f.place <= f.quantum) as head,
           array_agg(f.xid) filter (where f.special) as xids, array_agg(f.ticket)
             filter (where f.special) as tickets, array_agg(f.n) filter (where f.special) as ns,
           array_agg(f.late) filter (where f.special) as lates, array_agg(f.xid)
             filter (where f.late and f.place > f.quantum) as open_xids
      from (select f.*, (f.late or f.xid = v_own) and f.place <= f.quantum as special from found f
        where f.job is not null) f group by f.i
  ), moved as (
    select c.ordinality as i,
           (c.track, c.seq, c.uses, coalesce(t.head[2], c.head_xid), coalesce(t.head[3], c.head_ticket),
            coalesce(t.head[4], c.head_offset), c.lane, c.turn, c.credit, c.since, c.served,
            coalesce(l.late, '{}'))::lane_cursor as cursor
      from unnest(v_cursors) with ordinality c
      left join taken t on t.i = c.ordinality
      cross join snap
      cross join lateral (
        select array_agg((x.xid, x.ticket, x.n)::late_place order by x.nth) as late
          from (
            select l.nth, l.xid, coalesce(p.ticket, l.ticket) as ticket, coalesce(p.n, l.n) as n
              from unnest(c.late) with ordinality l (xid, ticket, n, nth)
              left join lateral (select p.ticket, p.n from unnest(t.xids, t.tickets, t.ns, t.lates) p (xid, ticket, n,
                late) where p.late and p.xid = l.xid order by p.ticket desc, p.n desc limit 1) p on true
             where l.xid = v_own or not xid_seen(l.xid, snap.s) or l.xid = any (t.open_xids)
            union all
            select 1000000, x, 0, 0 from unnest(snap.running) x where x >= c.head_xid and x < t.head[2]
            union all  -- this transaction may still write behind the new head
            select 2000000, v_own, coalesce(o.ticket, case when v_own = c.head_xid then c.head_ticket end, 0),
              coalesce(o.n, case when v_own = c.head_xid then c.head_offset end, 0)
              from (select 1) one left join lateral (
                select p.ticket, p.n from unnest(t.xids, t.tickets, t.ns, t.lates) p (xid, ticket, n, late)
                  where not p.late and p.xid = v_own order by p.ticket desc, p.n desc limit 1) o on true
             where v_own >= c.head_xid and v_own < t.head[2]) x
         where cardinality(c.late) > 0 or t.head[2] > snap.low) l
  )
  select p.jobs, p.attempts, p.versions, p.alones, p.groups, p.bytes, m.more, m.cursors, (select low from snap)
    into r.jobs, r.attempts, r.versions, r.alones, r.groups, r.bytes, r.more, r.cursors, r.low
    from (select array_agg(f.job order by f.g, f.place) as jobs, array_agg(f.attempt order by f.g, f.place) as attempts,
      array_agg(f.version order by f.g, f.place) as versions,
                 array_agg(f.alone order by f.g, f.place) as alones,
                 array_agg(f.g::int order by f.g, f.place) as groups, sum(f.bytes) as bytes
            from found f where f.place <= f.quantum and f.job is not null) p
    cross join (
      select (select array_agg(x.more order by x.g) from (select f.g,
        bool_or(f.behind or (f.place > f.quantum and f.job is not null)) as more from found f group by f.g) x) as more,
             array_agg(m.cursor order by m.i) as cursors
        from moved m) m;
  return r;
end $$;
