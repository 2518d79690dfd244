-- turns_take: claim jobs of a lane that has groups: one turn each, in the order in which they got in line, as long as
-- there is room. A group that has more gets in line again, at the end; a turn that did not fit goes on with the next
-- claim. Jobs without a group have a turn as if they were one. The line is a track like others (line_of(lane)), whose
-- tickets name tracks; producers append to it too, so a group may be named again although it is in line:
-- lane_cursor.turn tells which entry counts (turns_call). The caller has the lane's lock, and with limits that of the
-- queue's limits.
--
-- Groups go in one of three modes, which differ in two steps only:
--               how long turns are, and their order      what they have
--   fair        turns_pick_fair                          turns_read
--   ordered     turns_pick_fair                          turns_read_ordered
--   batches     turns_pick_batches                       turns_read_ordered, unless all of it was read
-- Where jobs have costs, groups get what they can pay for (turns_pay) and are charged for it (turns_charge); they pass
-- their turns while they owe.
-- Returns as lane_take. Writes: lane_cursor, ticket, claim, tally, postponed.
create or replace function turns_take(o claim_order, g group_rules) returns claim_taken
language plpgsql set enable_hashagg = off as $$
declare
  v_batches constant boolean := coalesce(g.ordered = 'batches', false);
  -- who ends from now on may be unseen below, and counts
  v_low constant bigint := case when g.ordered is not null then xmin_now() end;
  v_turn_size constant int := greatest(1, o.wanted / 200);
  -- with costs, many may owe
  v_need constant int := greatest(o.wanted / v_turn_size, case when g.has_costs then 50 end);
  -- in batches, those who have waited longest are looked for among them
  v_most constant int := v_need * 2 + case when v_batches then 20 else 0 end;
  v_look int := v_need + case when v_batches then 50 else 20 end;
  c_line constant lane_cursor := track_cursor(line_of(o.lane));
  c_own constant lane_cursor := track_cursor(o.lane);
  v_time constant numeric := case when g.has_costs then coalesce(c_line.served, 0) end;
  t claim_taken := (null, 0, 0, false, false)::claim_taken;
  s track_reading;
  r turns_called;
  k turns_picked;
  h record;
  v_own_turn boolean;
  v_passed int := 0;
  v_held bigint[] := '{}';  -- by one look: who holds a job from now on waits for this claim
  v_moved boolean;  -- assigned, because that costs less than perform
begin
  s := track_read(c_line, v_look);
  v_own_turn := s.jobs is null or ((c_own.turn is null or c_own.turn <= s.tickets[1])
    and (not g.has_costs or turn_left(coalesce(c_own.served, 0), v_time + v_turn_size) > 0));
  if v_own_turn then
    t := turns_own(o, g, s, c_line, c_own, v_time);
    if s.jobs is null or t.stop or t.jobs = o.wanted then
      v_moved := track_advance(s, 0);
      return t;
    end if;
  end if;

  -- Whose turn it is.
  loop
    r := turns_call(o, g, s, v_most, o.wanted - t.jobs, v_turn_size, v_time);
    exit when r.keys is not null;
    v_moved := track_advance(s, case when r.is_all then cardinality(s.jobs) else r.last_place end);
    v_passed := v_passed + 1;
    if r.is_all and cardinality(s.jobs) < v_look then
      t.more := not v_own_turn;  -- nobody in line may go, but there may be jobs without a group
      return t;
    elsif v_passed = 20 then
      t.stop := true;  -- up to 400,000 entries that do not count are enough for one claim; the caller asks again
      return t;
    elsif r.is_all then
      v_look := least(v_look * 10, 20000);
    end if;
    s := track_read(track_cursor(line_of(o.lane)), v_look);
    if s.jobs is null then
      v_moved := track_advance(s, 0);
      t.more := not v_own_turn;
      return t;
    end if;
  end loop;

  -- How long their turns are, and what they have.
  k := case when v_batches then turns_pick_batches(o.lane, r, s, o.wanted - t.jobs)
    else turns_pick_fair(r, s, o.wanted - t.jobs, v_look, v_turn_size) end;
  if o.is_shed then
    k := turns_shed(o.lane, k);
  end if;
  o.is_first := o.is_first and t.jobs = 0;
  if g.ordered is null then
    k.reading := turns_read(o.lane, k.keys, (k.called).quanta, (k.called).cursors);
  elsif (k.reading).low is null then
    k := turns_read_ordered(o, k);
  end if;
  if g.has_costs then
    k := turns_pay(o.lane, k);
  end if;
  if o.is_heavy or (k.reading).bytes + coalesce((k.back).bytes, 0) > o.max_bytes
     or true = any ((k.reading).alones) then
    k := turns_fit(o, k, v_batches);
    if (k.called).keys is null then
      v_moved := track_advance(s, 0);
      t.stop := true;
      return t;
    end if;
  end if;
  k.reading := turns_join(k.back, k.reading, v_low);
  if o.is_flagged then
    v_held := jobs_held((k.reading).jobs);
    if g.ordered is not null and v_held <> '{}' then
      k.reading := turns_hold_back(o.lane, k.keys, k.reading, v_held);
    end if;
  end if;

  h := turns_hand_out(o, g, k, v_held);
  perform turns_save(o.lane, g, s, k, c_line.turn, h.tokens);
  return (nullif(concat_ws(',', t.claimed, h.claimed), ''), t.jobs + h.jobs, t.bytes + h.bytes, true,
    k.stop)::claim_taken;
end $$;

-- turns_own: the turn of jobs without a group: all the room when nobody is in line, else a share of it.
-- Writes: as lane_take.
create or replace function turns_own(o claim_order, g group_rules, s track_reading, c_line lane_cursor,
  c_own lane_cursor, p_time numeric) returns claim_taken
language plpgsql as $$
declare
  v_start constant numeric := greatest(c_own.served, p_time);
  t claim_taken;
begin
  if s.jobs is not null then
    o.wanted := greatest(1, o.wanted / (1 + cardinality(s.jobs)));
  end if;
  o.is_serial := g.is_serial;
  t := lane_take(o);
  if t.jobs > 0 and s.jobs is not null then
    update lane_cursor set turn = nextval('ticket_id_seq')
     where track = o.lane and seq = (select max(c.seq) from lane_cursor c where c.track = o.lane);
  end if;
  if t.jobs > 0 and g.has_costs then
    perform turns_charge(o.lane, array[claim_token(t.claimed)], array[o.lane], array[v_start],
      case when s.jobs is null then v_start else p_time end, c_line.turn);
  end if;
  return t;
end $$;

-- turns_join: jobs that came back, before fresh ones. p_low: who ended before it was seen.
create or replace function turns_join(p_back turns_reading, g turns_reading, p_low bigint) returns turns_reading
language plpgsql as $$
begin
  if p_back.jobs is not null then
    g.jobs := p_back.jobs || g.jobs; g.attempts := p_back.attempts || g.attempts;
    g.versions := p_back.versions || g.versions; g.alones := p_back.alones || g.alones;
    g.groups := p_back.groups || g.groups;
  end if;
  g.low := least(g.low, p_low);
  return g;
end $$;

-- turns_shed: let the cursors of groups go past what was dropped, so that nobody's turn is wasted on it. What was read
-- of them has to be read again. Writes: lane_cursor, tally.
create or replace function turns_shed(p_lane bigint, k turns_picked) returns turns_picked
language plpgsql as $$
declare
  r turns_called := k.called;
begin
  perform track_shed(p_lane, track_cursor(x.track), null)
     from unnest(r.keys) u (key) cross join lateral (values (u.key), (again_of(u.key))) x (track);
  r.cursors := array(
    select c.c from unnest(r.keys) with ordinality u (key, i)
      left join lateral (select c from lane_cursor c where c.track = u.key order by c.seq desc limit 1) c on true
     order by u.i);
  k.called := r;
  k.reading := null;
  return k;
end $$;
