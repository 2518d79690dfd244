-- queue_purge: drop all waiting jobs of a queue, ready and delayed, by moving its cursors to the end of the log
-- (lanes_purge). The cost does not depend on the backlog. Running jobs go on; jobs of transactions still open arrive
-- afterwards and stay. Lanes that nobody knew when it began stay as they are: what is in them came later; those that
-- sleep have nothing. Returns how many were dropped.
-- All of it is one transaction, so it takes only as many lanes as the server has locks for (lanes_at_once);
-- queue_purge_step takes any number.
-- Locks: the queue's lanes and their entries, so that whatever moves a waiting job waits. Writes: lane_cursor,
-- lane_purge, tally, aside, agenda. Raises: MR001, MR003, MR007.
create or replace function queue_purge(p_queue text) returns bigint
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_most constant int := lanes_at_once();
  v_lanes bigint[];
begin
  if (select count(distinct lane) from scout where queue_id = v_queue_id) <= v_most then
    -- waits while somebody makes lanes, else a purge would miss a lane that nobody has seen yet
    perform lane_discover(array[v_queue_id]);
    v_lanes := array(select key from lane where queue_id = v_queue_id and not is_asleep order by key limit v_most + 1);
  end if;
  if v_lanes is null or cardinality(v_lanes) > v_most then
    perform raise_error('MR001',
      format('queue "%s" has too many lanes (types, priorities, resources) to be purged in one transaction: over %s',
        p_queue, v_most),
      'purge it in steps, each in a transaction of its own (queue_purge_step), or raise max_locks_per_transaction');
  end if;
  return (lanes_purge(v_lanes)).purged;
end $$;

-- lanes_at_once: how many lanes can be purged in one transaction. Each needs its birth and three locks more at most;
-- together that is half of what the server has room for.
create or replace function lanes_at_once() returns int
language sql stable as $$
  select current_setting('max_locks_per_transaction')::int
    * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) / 8
$$;

-- lanes_purge: drop all that waits in some lanes. Cursor, count and the record that makes purged jobs "cancelled" come
-- from one snapshot. p_since: lanes into which something came by the transaction of this number, or by one above it,
-- are left as they are (rest). Returns how many were dropped.
-- Locks: the lanes and their entries. Writes: lane_cursor, lane_purge, tally, aside, agenda.
create or replace function lanes_purge(p_lanes bigint[], p_since bigint default null, out purged bigint,
  out rest bigint[])
language plpgsql as $$
declare
  v_own constant bigint := xid_now();
  -- jobs of this very transaction: those so far are purged, those to come are not
  v_last constant bigint := job_id_new();
  v_ticket constant bigint := nextval('ticket_id_seq');
begin
  perform lanes_seize(p_lanes);
  perform pg_advisory_xact_lock(lane_entry(lane)) from unnest(p_lanes) lane;
  with snap as materialized (
    select pg_current_snapshot() as s, xmax_now() as xmax,
           array(select x from xids_running(pg_current_snapshot()) x order by x) as running
  ), track as materialized (
    select l.key as lane, t.key, c.*, own.id as own_ticket, own.jobs as own_jobs
      from lane l cross join lateral (values (l.key), (again_of(l.key))) t (key)
      cross join lateral (select c.seq from lane_cursor c where c.track = t.key order by c.seq desc limit 1) c
      left join lateral (select k.id, cardinality(k.jobs) as jobs from ticket k
                          where k.lane = t.key and k.xid = v_own
                          order by k.id desc limit 1) own on true
     where l.key = any (p_lanes)
       and (p_since is null or not lane_changed(l.key, p_since))
  ), passed as (
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late)
    select t.key, t.seq + 1, greatest(snap.xmax, v_own),
           case when v_own >= snap.xmax then coalesce(t.own_ticket, 0) else 0 end,
           case when v_own >= snap.xmax then coalesce(t.own_jobs, 0) else 0 end,
           late.places
      from track t cross join snap
      cross join lateral (
        select coalesce(array_agg(
                 case when x = v_own then (x, coalesce(t.own_ticket, 0), coalesce(t.own_jobs, 0))::late_place
                      else (x, 0, 0)::late_place end order by x), '{}') as places
          from (select unnest(snap.running) as x union select v_own where v_own < snap.xmax
                union select generate_series(snap.xmax, v_own - 1)) late_x) late
  ), gone as (
    delete from lane_cursor c using track t where c.track = t.key and (c.seq = t.seq or c.seq < 0)
  ), aside_gone as (
    delete from aside where lane in (select lane from track)
  ), forgotten as (  -- what earlier ones dropped, this one drops too
    delete from lane_purge where lane in (select lane from track)
  ), noted as (
    insert into lane_purge (lane, snapshot, own_xid, own_job, own_ticket, purged_at)
    select t.lane, snap.s, v_own, v_last, v_ticket, clock_now()
      from (select distinct lane from track) t
      cross join snap
  ), depth as materialized (
    select d.lane, sum(d.ready) as ready, sum(d.delayed) as delayed,
           (select count(*) from agenda g where g.lane = d.lane and g.chain = 1) as chained
      from (select lane, ready, delayed from lane_depth union all select lane, ready, delayed from tally) d
     where d.lane in (select lane from track) group by d.lane
  ), counted as (
    -- what is in the agenda is uncounted as it leaves it
    insert into tally (lane, ready) select lane, chained - ready from depth
  )
  select coalesce(sum(ready + delayed), 0), array(select unnest(p_lanes) except select lane from track order by 1)
    into purged, rest from depth;
  perform agenda_drop(p_lanes, 10000);  -- more than that is left to upkeep
end $$;

-- lane_changed: whether something came into a lane by the transaction of this number, or by one above it, as the
-- statement sees it that asks.
create or replace function lane_changed(p_lane bigint, p_since bigint) returns boolean
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return exists (select from (values (p_lane), (again_of(p_lane)), (line_of(p_lane))) k (track)
                   cross join lateral (select from ticket n
                                        where n.lane = k.track and n.xid >= p_since limit 1) n)
    or exists (select from agenda g where g.lane = p_lane and g.xid >= p_since);
end $$;
