-- turns_save: groups that have more get in line again, the cursors of all stand where they were read to, and the line
-- moves on. A turn that did not fit keeps its entry, with the rest of it. Where jobs have costs, groups are charged;
-- those that owe get in line again without a turn. p_round: the ticket that ends the round of the lane's time.
-- Writes: lane_cursor, ticket.
create or replace function turns_save(p_lane bigint, g group_rules, s track_reading, k turns_picked, p_round bigint,
  p_tokens uuid[]) returns void
language plpgsql as $$
declare
  v_batches constant boolean := coalesce(g.ordered = 'batches', false);
  r turns_called := k.called;
  v_reading turns_reading := k.reading;
  v_turn constant bigint := nextval('ticket_id_seq');
  v_cut constant int := cardinality(r.keys);
  v_last int := k.last_place;
  v_ends_round boolean;
  v_moved boolean;
begin
  if true = any (k.remains) then
    v_reading.more := array(
      select u.more or u.remains from unnest(v_reading.more, k.remains[1:cardinality(v_reading.more)])
        with ordinality u (more, remains, i) order by u.i);
  end if;
  if k.rest > 0 and v_reading.more[v_cut] and not v_batches then
    v_last := r.places[v_cut] - 1;
    v_moved := turns_advance(v_reading, v_turn, v_cut, s.tickets[v_last + 1], k.rest, v_batches);
    v_reading.more[v_cut] := false;
  else
    v_moved := turns_advance(v_reading, v_turn, null, null, null, v_batches);
  end if;
  v_moved := track_advance(s, v_last);
  if g.has_costs then
    -- everybody in line has been visited
    v_ends_round := s.tickets[v_last] >= coalesce(p_round, 0) and s.tickets[v_last + 1] is distinct from p_round;
    perform turns_charge(p_lane, p_tokens, r.keys, r.starts,
      r.time + case when v_ends_round then k.turn_size else 0 end, case when v_ends_round then v_turn else p_round end);
    r.owing := turns_pass(r.owing, r.owing_places, v_last, v_turn);
  end if;
  insert into ticket (lane, xid, id, slot, jobs)
  select line_of(p_lane), xid_now(), v_turn, ticket_slot(xid_now()), array_agg(u.key order by u.i)
    from (select u.key, u.i from unnest(r.keys, v_reading.more) with ordinality u (key, more, i) where u.more
          union all
          select x, 0 from unnest(r.owing) x) u having count(*) > 0;
end $$;
