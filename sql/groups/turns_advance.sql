-- turns_advance: put the cursors of groups where a reading has brought them, and note when the next turn of each comes:
-- at p_turn where there is more; for the one whose turn did not fit (p_cut, its place among them) still at its entry,
-- with the rest of it. p_dated: note since when also where there is more. The caller has the lane's lock.
-- Writes: lane_cursor, as cursor_save does, for many.
create or replace function turns_advance(r turns_reading, p_turn bigint, p_cut int, p_cut_turn bigint, p_credit int,
  p_dated boolean) returns boolean
language plpgsql as $$
begin
  with moved as materialized (
    select c.*, case when r.more[c.ordinality] then case when c.ordinality = p_cut then p_cut_turn else p_turn end
                end as next,
           case when c.ordinality = p_cut and r.more[c.ordinality] then p_credit end as rest,
           case when p_dated or not r.more[c.ordinality] then r.low end as empty_since
      from unnest(r.cursors) with ordinality c
  ), updated as (
    update lane_cursor k set uses = k.uses + 1, head_xid = m.head_xid, head_ticket = m.head_ticket,
           head_offset = m.head_offset, late = m.late, turn = m.next, credit = m.rest, since = m.empty_since
      from moved m
     where k.track = m.track and k.seq = m.seq and m.seq > 0 and m.uses < 64
       and (k.head_xid, k.head_ticket, k.head_offset, k.late, k.turn, k.credit, k.since)
           is distinct from (m.head_xid, m.head_ticket, m.head_offset, m.late, m.next, m.rest, m.empty_since)
  ), renewed as (
    insert into lane_cursor (track, seq, head_xid, head_ticket, head_offset, late, lane, turn, credit, since, served)
    select m.track, m.seq + 1, m.head_xid, m.head_ticket, m.head_offset, m.late, m.lane, m.next, m.rest, m.empty_since,
           m.served
      from moved m where m.seq = 0 or m.uses >= 64
  )
  delete from lane_cursor k using moved m where k.track = m.track and k.seq = m.seq and m.uses >= 64;
  return true;
end $$;
