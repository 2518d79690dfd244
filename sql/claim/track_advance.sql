-- track_advance: move a track's cursor past the first p_taken jobs of a reading, if there is one. The caller still
-- holds the lane's lock. Returns whether it moved. Writes: lane_cursor.
create or replace function track_advance(r track_reading, p_taken int) returns boolean
language plpgsql as $$
declare
  v_own constant bigint := xid_now();
  c constant lane_cursor := r.c;  -- where it stands
  n lane_cursor := r.c;           -- where it will
  v_at int;
begin
  if c.seq is null then
    return false;
  end if;

  -- Late transactions: everything before the last one taken from is finished; that one keeps its place; the rest wait.
  if true = any (r.late_done) then
    if p_taken >= r.late_count and r.late_count < r.wanted then
      n.late := array(select (l.xid, l.ticket, l.skip)::late_place from unnest(c.late) with ordinality l
        where not r.late_done[l.ordinality] order by l.ordinality);
    elsif p_taken > 0 then
      v_at := least(p_taken, r.late_count);
      n.late := array(
        select case when l.xid = r.xids[v_at] then (l.xid, r.tickets[v_at], r.offsets[v_at])::late_place
                    else (l.xid, l.ticket, l.skip)::late_place end
          from unnest(c.late) with ordinality l
         where not (r.late_done[l.ordinality]
                    and l.ordinality < (select x.ordinality from unnest(c.late) with ordinality x
                                         where x.xid = r.xids[v_at]))
         order by l.ordinality);
    end if;
  end if;

  -- The head: past the last fresh job taken, or past every ring child that was read to its end.
  if p_taken = coalesce(cardinality(r.jobs), 0) and p_taken < r.wanted and r.passed_xid is not null
     and coalesce(r.xids[p_taken], 0) < r.passed_xid then
    n.head_xid := r.passed_xid; n.head_ticket := 0; n.head_offset := 0;
  elsif p_taken > r.late_count then
    n.head_xid := r.xids[p_taken]; n.head_ticket := r.tickets[p_taken]; n.head_offset := r.offsets[p_taken];
  end if;
  if n.head_xid > c.head_xid then
    if r.running <> '{}' then
      n.late := n.late
        || late_from(array(select x from unnest(r.running) x where x >= c.head_xid and x < n.head_xid));
    end if;
    -- this transaction may still write behind the new head; never into what was set aside
    if v_own >= c.head_xid and v_own < n.head_xid and c.seq > 0 then
      v_at := (select max(i) from unnest(r.xids) with ordinality u (x, i)
        where x = v_own and i > r.late_count and i <= p_taken);
      n.late := n.late || (v_own, coalesce(r.tickets[v_at], case when v_own = c.head_xid then c.head_ticket end, 0),
        coalesce(r.offsets[v_at], case when v_own = c.head_xid then c.head_offset end, 0))::late_place;
    end if;
  end if;
  return cursor_save(c, n);
end $$;

-- cursor_save: let a cursor stand somewhere else, if it is another place. In place 64 times, then as a new row, so that
-- versions an old snapshot keeps alive are never walked. Returns whether it moved. Writes: lane_cursor.
create or replace function cursor_save(c lane_cursor, n lane_cursor) returns boolean
language plpgsql as $$
begin
  if (c.head_xid, c.head_ticket, c.head_offset) = (n.head_xid, n.head_ticket, n.head_offset) and c.late = n.late then
    return false;
  elsif c.uses < 64 then
    update lane_cursor set uses = uses + 1, head_xid = n.head_xid, head_ticket = n.head_ticket,
           head_offset = n.head_offset, late = n.late
     where track = c.track and seq = c.seq;
  else
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late, lane, turn, credit, since, served)
    select c.track, c.seq + 1, n.head_xid, n.head_ticket, n.head_offset, n.late, lane, turn, credit, since, served
      from lane_cursor where track = c.track and seq = c.seq;
    delete from lane_cursor where track = c.track and seq = c.seq;
  end if;
  return true;
end $$;
