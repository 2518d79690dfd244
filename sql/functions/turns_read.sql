-- turns_read: what comes next for each of some groups, at most a quantum each: jobs claimable again first, then late ones, then fresh ones.
-- One ring child is read at a time; a group that stands in an older one counts as having more.
-- Moves nothing but the cursors that a purge has made obsolete, and opens those that do not exist yet. The caller has the lane's lock.
-- The rules are those of track_read and track_advance, for many tracks in one statement: every transaction that a new head passes is read here, or was running in
-- the snapshot of this statement, or is our own, and is remembered as late. Writes: lane_cursor.
create or replace function turns_read(p_lane bigint, p_keys bigint[], p_quanta int[]) returns turns_reading
language plpgsql volatile set enable_nestloop = off set enable_hashjoin = on as $$
declare
  r turns_reading;
  v_own constant bigint := xid_now();
  v_purge lane_purge;
  v_cursors lane_cursor[];
  v_unknown bigint[];
  v_purge_end bigint;
  v_purged boolean;
begin
  select * into v_purge from lane_purge where lane = p_lane;
  v_purge_end := pg_snapshot_xmax(v_purge.snapshot)::text::bigint;
  -- Two for each group: first that of jobs claimable again, which may not exist.
  loop
    v_cursors := array(select c from unnest(p_keys) with ordinality u (key, i) cross join lateral (values (u.key + 1), (u.key)) t (key)
                        left join lateral (select c from lane_cursor c where c.track = t.key order by c.seq desc limit 1) c on true order by u.i, t.key desc);
    select array_agg(p_keys[c.i / 2]) filter (where c.track is null and c.i % 2 = 0), coalesce(bool_or(c.head_xid < v_purge_end), false) into v_unknown, v_purged
      from unnest(v_cursors) with ordinality c (track, seq, uses, head_xid, head_ticket, head_offset, late_xids, late_tickets, late_offsets, lane, turn, credit, i);
    if v_unknown is not null then
      perform tracks_open(v_unknown, p_lane);
    elsif v_purged then
      perform tracks_purge(p_keys, v_purge);
    else
      exit;
    end if;
  end loop;

  with snap as materialized (
    -- Our own tickets may carry us past the end of the snapshot; whoever is between is unknown to it, so counts as running.
    select pg_current_snapshot() as s, greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint, v_own) >> 18 as child,
           array(select x::text::bigint from pg_snapshot_xip(pg_current_snapshot()) x)
           || array(select generate_series(pg_snapshot_xmax(pg_current_snapshot())::text::bigint, v_own - 1)) as running,
           least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, v_own) as low
  ), found as materialized (
    select c.i, (c.i + 1) / 2 as g, p_quanta[(c.i + 1) / 2] as quantum, f.late, f.xid, f.ticket, f.n, f.job, f.attempt, f.version, f.bytes, start.xid >> 18 < snap.child as behind,
           row_number() over (partition by (c.i + 1) / 2 order by f.job is null, c.i, f.late desc, f.nth, f.xid, f.ticket, f.n) as place
      from unnest(v_cursors) with ordinality c (track, seq, uses, head_xid, head_ticket, head_offset, late_xids, late_tickets, late_offsets, lane, turn, credit, i)
      cross join snap
      cross join lateral (
        select case when c.head_xid >> 18 = snap.child then c.head_xid else (
                 select k.xid from ticket k
                  where k.lane = c.track and k.xid >= c.head_xid and (k.xid, k.id) >= (c.head_xid, c.head_ticket)
                    and not (k.xid = c.head_xid and k.id = c.head_ticket and cardinality(k.jobs) <= c.head_offset)
                  order by k.xid, k.id limit 1) end as xid
         where c.track is not null) start
      left join lateral (
        select true as late, l.nth, k.xid, k.id as ticket, k.skip + j.n::int as n, j.job, k.attempt, k.version, k.bytes
          from unnest(c.late_xids, c.late_tickets, c.late_offsets) with ordinality l (xid, ticket, n, nth)
          cross join lateral (
            select k.xid, k.id, k.attempt, k.version, k.jobs, coalesce(k.bytes, 2147483647)::bigint / cardinality(k.jobs) as bytes, case when k.id = l.ticket then l.n else 0 end as skip,
                   sum(cardinality(k.jobs)) over (order by k.id) - cardinality(k.jobs) as before
              from ticket k where k.slot = ticket_slot(l.xid) and k.lane = c.track and k.xid = l.xid and k.id >= l.ticket
             order by k.id limit p_quanta[(c.i + 1) / 2] + 2) k
          cross join lateral unnest(k.jobs[k.skip + 1 : k.skip + 1 + p_quanta[(c.i + 1) / 2]]) with ordinality j (job, n)
         where c.late_xids <> '{}' and k.before - l.n <= p_quanta[(c.i + 1) / 2] and l.xid <> v_own and pg_visible_in_snapshot(l.xid::text::xid8, pg_current_snapshot())
           and (k.xid = v_purge.own_xid and j.job <= v_purge.own_job) is not true
        union all
        select false, 0, k.xid, k.id, k.skip + j.n::int, j.job, k.attempt, k.version, k.bytes
          from (
            select k.xid, k.id, k.attempt, k.version, k.jobs, coalesce(k.bytes, 2147483647)::bigint / cardinality(k.jobs) as bytes,
                   case when k.xid = c.head_xid and k.id = c.head_ticket then c.head_offset else 0 end as skip,
                   sum(cardinality(k.jobs)) over (order by k.xid, k.id) - cardinality(k.jobs) as before
              from ticket k
             where k.slot = ticket_slot(start.xid) and k.lane = c.track and k.xid >= start.xid and (k.xid, k.id) >= (c.head_xid, c.head_ticket)
             order by k.xid, k.id limit p_quanta[(c.i + 1) / 2] + 2) k
          cross join lateral unnest(k.jobs[k.skip + 1 : k.skip + 1 + p_quanta[(c.i + 1) / 2]]) with ordinality j (job, n)
         where k.before - c.head_offset <= p_quanta[(c.i + 1) / 2] and (k.xid = v_purge.own_xid and j.job <= v_purge.own_job) is not true) f on true
  ), taken as (
    select f.i, max(array[f.place, f.xid, f.ticket, f.n]) filter (where not f.late and f.place <= f.quantum) as head,
           array_agg(f.xid) filter (where f.special) as xids, array_agg(f.ticket) filter (where f.special) as tickets, array_agg(f.n) filter (where f.special) as ns,
           array_agg(f.late) filter (where f.special) as lates, array_agg(f.xid) filter (where f.late and f.place > f.quantum) as open_xids
      from (select f.*, (f.late or f.xid = v_own) and f.place <= f.quantum as special from found f where f.job is not null) f group by f.i
  ), moved as (
    select c.i, c.track, c.seq, c.uses, coalesce(t.head[2], c.head_xid) as head_xid, coalesce(t.head[3], c.head_ticket) as head_ticket, coalesce(t.head[4], c.head_offset)::int as head_offset,
           l.xids, l.tickets, l.offsets, c.lane, c.turn, c.credit
      from unnest(v_cursors) with ordinality c (track, seq, uses, head_xid, head_ticket, head_offset, late_xids, late_tickets, late_offsets, lane, turn, credit, i)
      left join taken t on t.i = c.i
      cross join snap
      cross join lateral (
        select coalesce(array_agg(x.xid order by x.nth), '{}') as xids, coalesce(array_agg(x.ticket order by x.nth), '{}') as tickets, coalesce(array_agg(x.n order by x.nth), '{}') as offsets
          from (
            select l.nth, l.xid, coalesce(p.ticket, l.ticket) as ticket, coalesce(p.n, l.n) as n
              from unnest(c.late_xids, c.late_tickets, c.late_offsets) with ordinality l (xid, ticket, n, nth)
              left join lateral (select p.ticket, p.n from unnest(t.xids, t.tickets, t.ns, t.lates) p (xid, ticket, n, late) where p.late and p.xid = l.xid order by p.ticket desc, p.n desc limit 1) p on true
             where l.xid = v_own or not pg_visible_in_snapshot(l.xid::text::xid8, snap.s) or l.xid = any (t.open_xids)
            union all
            select 1000000, x, 0, 0 from unnest(snap.running) x where x >= c.head_xid and x < t.head[2]
            union all  -- this transaction may still write behind the new head
            select 2000000, v_own, coalesce(o.ticket, case when v_own = c.head_xid then c.head_ticket end, 0), coalesce(o.n, case when v_own = c.head_xid then c.head_offset end, 0)
              from (select 1) one left join lateral (
                select p.ticket, p.n from unnest(t.xids, t.tickets, t.ns, t.lates) p (xid, ticket, n, late) where not p.late and p.xid = v_own order by p.ticket desc, p.n desc limit 1) o on true
             where v_own >= c.head_xid and v_own < t.head[2]) x
         where c.late_xids <> '{}' or t.head[2] > snap.low) l
  )
  select p.jobs, p.attempts, p.versions, p.groups, p.bytes, m.more, m.cursors into r.jobs, r.attempts, r.versions, r.groups, r.bytes, r.more, r.cursors
    from (select array_agg(f.job order by f.g, f.place) as jobs, array_agg(f.attempt order by f.g, f.place) as attempts, array_agg(f.version order by f.g, f.place) as versions,
                 array_agg(f.g::int order by f.g, f.place) as groups, sum(f.bytes) as bytes
            from found f where f.place <= f.quantum and f.job is not null) p
    cross join (
      select (select array_agg(x.more order by x.g) from (select f.g, bool_or(f.behind or (f.place > f.quantum and f.job is not null)) as more from found f group by f.g) x) as more,
             array_agg((m.track, m.seq, m.uses, m.head_xid, m.head_ticket, m.head_offset, m.xids, m.tickets, m.offsets, m.lane, m.turn, m.credit)::lane_cursor order by m.i) as cursors
        from moved m) m;
  return r;
end $$;

-- tracks_purge: move cursors of groups past what a purge of their lane has dropped, as queue_purge did with the lane's own; once for each purge.
create or replace function tracks_purge(p_keys bigint[], p lane_purge) returns void
language plpgsql as $$
declare
  v_xmax bigint := pg_snapshot_xmax(p.snapshot)::text::bigint;
begin
  update lane_cursor c set head_xid = v_xmax, head_ticket = 0, head_offset = 0, late_xids = l.xids, late_tickets = array_fill(0::bigint, array[cardinality(l.xids)]),
         late_offsets = array_fill(0, array[cardinality(l.xids)])
    from unnest(p_keys) k cross join lateral (values (k), (k + 1)) t (key)
    cross join lateral (select coalesce(array_agg(x::text::bigint), '{}') || case when p.own_xid < v_xmax then array[p.own_xid] else '{}' end as xids
                          from pg_snapshot_xip(p.snapshot) x) l
   where c.track = t.key and c.head_xid < v_xmax;
end $$;
