-- track_advance: move a track's cursor past the first p_taken jobs of a reading, if there is one. The caller still
-- holds the lane's lock. Returns whether it moved.
-- Writes: lane_cursor. In place 64 times, then as a new row, so that versions an old snapshot keeps alive are never
-- walked.
create or replace function track_advance(r track_reading, p_taken int) returns boolean
language plpgsql as $$
declare
  v_own bigint := xid_now();
  v_xid bigint := r.head_xid;
  v_ticket bigint := r.head_ticket;
  v_offset int := r.head_offset;
  v_late_xids bigint[] := r.late_xids;
  v_late_tickets bigint[] := r.late_tickets;
  v_late_offsets int[] := r.late_offsets;
  v_missed bigint[];
  v_at int;
begin
  if r.seq is null then
    return false;
  end if;

  -- Late transactions: everything before the last one taken from is finished; that one keeps its place; the rest wait.
  if true = any (r.late_done) then
    if p_taken >= r.late_count and r.late_count < r.wanted then
      select array_agg(l.x order by i), array_agg(l.t order by i), array_agg(l.o order by i)
        into v_late_xids, v_late_tickets, v_late_offsets
        from unnest(r.late_xids, r.late_tickets, r.late_offsets, r.late_done) with ordinality l (x, t, o, done, i)
          where not l.done;
    elsif p_taken > 0 then
      v_at := array_position(r.late_xids, r.xids[least(p_taken, r.late_count)]);
      select array_agg(l.x order by i),
             array_agg(case when i = v_at then r.tickets[least(p_taken, r.late_count)] else l.t end order by i),
             array_agg(case when i = v_at then r.offsets[least(p_taken, r.late_count)] else l.o end order by i)
        into v_late_xids, v_late_tickets, v_late_offsets
        from unnest(r.late_xids, r.late_tickets, r.late_offsets, r.late_done) with ordinality l (x, t, o, done, i)
       where not (l.done and i < v_at);
    end if;
  end if;

  -- The head: past the last fresh job taken, or past every ring child that was read to its end.
  if p_taken = coalesce(cardinality(r.jobs), 0) and p_taken < r.wanted and r.passed_xid is not null
     and coalesce(r.xids[p_taken], 0) < r.passed_xid then
    v_xid := r.passed_xid; v_ticket := 0; v_offset := 0;
  elsif p_taken > r.late_count then
    v_xid := r.xids[p_taken]; v_ticket := r.tickets[p_taken]; v_offset := r.offsets[p_taken];
  end if;
  if v_xid > r.head_xid then
    if r.running <> '{}' then
      v_missed := array(select x from unnest(r.running) x where x >= r.head_xid and x < v_xid);
    end if;
    if v_missed <> '{}' then
      v_late_xids := v_late_xids || v_missed;
      v_late_tickets := v_late_tickets || array_fill(0::bigint, array[cardinality(v_missed)]);
      v_late_offsets := v_late_offsets || array_fill(0, array[cardinality(v_missed)]);
    end if;
    -- this transaction may still write behind the new head; never into what was set aside
    if v_own >= r.head_xid and v_own < v_xid and r.seq > 0 then
      v_at := (select max(i) from unnest(r.xids) with ordinality u (x, i)
        where x = v_own and i > r.late_count and i <= p_taken);
      v_late_xids := v_late_xids || v_own;
      v_late_tickets := v_late_tickets || coalesce(r.tickets[v_at], case when v_own = r.head_xid then r.head_ticket end,
        0);
      v_late_offsets := v_late_offsets || coalesce(r.offsets[v_at], case when v_own = r.head_xid then r.head_offset end,
        0);
    end if;
  end if;

  v_late_xids := coalesce(v_late_xids, '{}');
  if (v_xid, v_ticket, v_offset) = (r.head_xid, r.head_ticket, r.head_offset) and v_late_xids = r.late_xids
     and v_late_tickets = r.late_tickets and v_late_offsets = r.late_offsets then
    return false;
  elsif r.uses < 64 then
    update lane_cursor set uses = uses + 1, head_xid = v_xid, head_ticket = v_ticket, head_offset = v_offset,
           late_xids = v_late_xids, late_tickets = coalesce(v_late_tickets, '{}'),
             late_offsets = coalesce(v_late_offsets, '{}')
     where track = r.track and seq = r.seq;
  else
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late_xids, late_tickets, late_offsets,
      lane, turn, credit, since, served)
    select r.track, r.seq + 1, v_xid, v_ticket, v_offset, v_late_xids, coalesce(v_late_tickets, '{}'),
      coalesce(v_late_offsets, '{}'), lane, turn, credit, since, served
      from lane_cursor where track = r.track and seq = r.seq;
    delete from lane_cursor where track = r.track and seq = r.seq;
  end if;
  return true;
end $$;
