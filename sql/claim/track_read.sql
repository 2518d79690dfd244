-- track_read: the next p_wanted jobs of a track, from where its cursor stands, without moving it. The caller holds the
-- lane's lock. Late transactions that have ended come first, then tickets after the head, one ring child at a time.
-- Every transaction below the new head is read here, or was running in the very snapshot that read its neighbourhood
-- (running), or lies beyond it, or is our own. That is the whole argument for losing nothing; see sql/README.md. Of a
-- range that was set aside (p_seen: what it saw) all is there already: nothing of it is late, and what others wrote in
-- between is not part of it.
-- VOLATILE: each statement sees the newest snapshot. Raises: MR006.
create or replace function track_read(c lane_cursor, p_wanted int, p_seen pg_snapshot default null)
  returns track_reading
language plpgsql volatile as $$
declare
  r track_reading;
  v_snapshot pg_snapshot;
  v_jobs bigint[]; v_xids bigint[]; v_tickets bigint[]; v_offsets int[]; v_attempts int[]; v_versions int[]; v_alones
    boolean[];
  v_xid bigint; v_ticket bigint; v_offset int; v_end bigint; v_slot smallint; v_room int; v_bytes bigint; v_xmax bigint;
  v_own constant bigint := xid_now();
  v_until constant bigint := xmax_of(p_seen);
  v_again constant boolean := c.track % 2 <> 0;  -- fresh tickets are all attempt 1, version 0, not alone
begin
  r := (c, null, 0, null, null, null, null, null, null, null, null, null, p_wanted, null)::track_reading;
  if c.seq is null then
    return r;
  end if;
  if c.head_xid > v_own then
    perform cell_check(c.head_xid);
  end if;

  if cardinality(c.late) > 0 then
    v_snapshot := pg_current_snapshot();
    r.late_done := array(
      select xid_seen(l.xid, v_snapshot) and l.xid <> v_own
        from unnest(c.late) with ordinality l order by l.ordinality);
    if true = any (r.late_done) then
      select array_agg(x.job), array_agg(x.xid), array_agg(x.ticket), array_agg(x.ord), array_agg(x.attempt),
             array_agg(x.version), array_agg(x.alone), sum(x.bytes) filter (where x.first)
        into r.jobs, r.xids, r.tickets, r.offsets, r.attempts, r.versions, r.alones, r.bytes
        from (
          select l.xid, t.ticket, t.job, t.ord, t.attempt, t.version, t.alone, t.bytes,
                 t.ord = case when t.ticket = l.ticket then l.skip + 1 else 1 end as first
            from unnest(c.late) with ordinality l
            cross join lateral (
              select k.id as ticket, unnest(k.jobs) as job, generate_subscripts(k.jobs, 1) as ord, k.attempt, k.version,
                     k.alone, coalesce(k.bytes, 2147483647)::bigint as bytes
                from ticket k
               where k.slot = ticket_slot(l.xid) and k.lane = c.track and k.xid = l.xid and k.id >= l.ticket
               order by k.id limit p_wanted + l.skip) t
           where r.late_done[l.ordinality] and (t.ticket, t.ord) > (l.ticket, l.skip)
           order by l.ordinality, t.ticket, t.ord
           limit p_wanted) x;
      r.late_count := coalesce(cardinality(r.jobs), 0);
    end if;
  end if;

  v_room := p_wanted - r.late_count;
  v_xid := c.head_xid; v_ticket := c.head_ticket; v_offset := c.head_offset;
  while v_room > 0 loop
    v_end := least(ring_turn_end(v_xid), v_until);
    v_slot := ticket_slot(v_xid);
    select array_agg(x.job), array_agg(x.xid), array_agg(x.ticket), array_agg(x.ord),
           array_agg(x.attempt) filter (where v_again), array_agg(x.version) filter (where v_again), array_agg(x.alone)
             filter (where v_again),
           sum(x.bytes) filter (where x.ord = case when x.ticket = v_ticket then v_offset + 1 else 1 end),
             (select pg_current_snapshot())
      into v_jobs, v_xids, v_tickets, v_offsets, v_attempts, v_versions, v_alones, v_bytes, v_snapshot
      from (
        select k.xid, k.id as ticket, unnest(k.jobs) as job, generate_subscripts(k.jobs, 1) as ord, k.attempt,
          k.version, k.alone,
               coalesce(k.bytes, 2147483647)::bigint as bytes
          from ticket k
         where k.slot = v_slot and k.lane = c.track and (k.xid, k.id) >= (v_xid, v_ticket) and k.xid < v_end
           and (p_seen is null or xid_seen(k.xid, p_seen))
         order by k.xid, k.id
         limit v_room + v_offset) x
     where (x.xid, x.ticket, x.ord) > (v_xid, v_ticket, v_offset);
    if v_jobs is not null then
      if cardinality(v_jobs) > v_room then
        v_jobs := v_jobs[1:v_room]; v_xids := v_xids[1:v_room]; v_tickets := v_tickets[1:v_room]; v_offsets :=
          v_offsets[1:v_room];
        if v_again then
          v_attempts := v_attempts[1:v_room]; v_versions := v_versions[1:v_room]; v_alones := v_alones[1:v_room];
        end if;
      end if;
      r.bytes := coalesce(r.bytes, 0) + v_bytes;
      v_room := v_room - cardinality(v_jobs);
      r.jobs := r.jobs || v_jobs; r.xids := r.xids || v_xids; r.tickets := r.tickets
        || v_tickets; r.offsets := r.offsets || v_offsets;
      if v_again then
        r.attempts := r.attempts || v_attempts; r.versions := r.versions || v_versions; r.alones := r.alones
          || v_alones;
      end if;
    end if;
    exit when v_end = v_until;
    if p_seen is null and pg_snapshot_xmin(v_snapshot) < pg_snapshot_xmax(v_snapshot) then
      r.running := r.running || array(
        select x from xids_running(v_snapshot) x
          where x >= v_xid and x < v_end);
    end if;
    -- Our own tickets may carry us past the end of the snapshot; whoever is between is unknown to it, so counts as
    -- running.
    v_xmax := xmax_of(v_snapshot);
    if p_seen is null and v_own > v_xmax then
      r.running := r.running || array(select x from generate_series(greatest(v_xmax, v_xid),
        least(v_own, v_end) - 1) x);
    end if;
    exit when v_room = 0 or v_xmax < v_end;
    v_xid := v_end; v_ticket := 0; v_offset := 0;
    r.passed_xid := v_end;
  end loop;
  return r;
end $$;

-- track_cursor: where a track stands.
create or replace function track_cursor(p_track bigint) returns lane_cursor
language sql volatile as $$ select c from lane_cursor c where c.track = p_track order by c.seq desc limit 1 $$;
