-- turns_pick_fair: a turn is as many jobs as a group's weight, times a two-hundredth of the room. When all that are in
-- line fit, turns grow to fill the room; what does not fit of the last one's turn is left for the next claim.
create or replace function turns_pick_fair(r turns_called, s track_reading, p_room int, p_look int, p_turn_size int)
  returns turns_picked
language plpgsql as $$
declare
  k turns_picked;
  v_all constant boolean := r.is_all and cardinality(r.keys) = r.live;
  v_factor constant int := p_room / r.total;
begin
  k.turn_size := p_turn_size;
  if v_all and cardinality(s.jobs) < p_look and v_factor > 1 then
    k.turn_size := p_turn_size * v_factor;
    select array_agg(least(u.q * v_factor, u.room) order by u.i), sum(least(u.q * v_factor, u.room))
      into r.quanta, r.total from unnest(r.quanta, r.rooms) with ordinality u (q, room, i);
  end if;
  k.rest := greatest(r.total - p_room, 0);
  -- when all go, what follows does not count
  k.last_place := case when k.rest = 0 and v_all then cardinality(s.jobs) else r.places[cardinality(r.places)] end;
  return turns_picked_of(k, r);
end $$;

-- turns_pick_batches: in ordered batches groups go in the order in which the first job of each became claimable, with
-- all they have (turns_sort).
create or replace function turns_pick_batches(p_lane bigint, r turns_called, s track_reading, p_room int)
  returns turns_picked
language plpgsql as $$
declare
  k turns_picked;
  v_sorted constant record := turns_sort(p_lane, r, cardinality(s.jobs), p_room);
begin
  r := v_sorted.called;
  k.reading := v_sorted.reading;
  k.rest := greatest(r.total - p_room, 0);
  k.last_place := r.last_place;
  return turns_picked_of(k, r);
end $$;

-- turns_picked_of: groups with their turns, of which the last is cut by what does not fit.
create or replace function turns_picked_of(k turns_picked, r turns_called) returns turns_picked
language plpgsql as $$
begin
  if k.rest > 0 then
    r.quanta[cardinality(r.quanta)] := r.quanta[cardinality(r.quanta)] - k.rest;
  end if;
  k.called := r; k.keys := r.keys; k.stop := false;
  return k;
end $$;

-- turns_pay: where jobs have costs, groups get as much as they can pay for (turns_afford).
create or replace function turns_pay(p_lane bigint, k turns_picked) returns turns_picked
language plpgsql as $$
declare
  r turns_called := k.called;
  v_affordable constant int[] := case when (k.reading).jobs is not null then turns_afford(k.reading, r) end;
begin
  if v_affordable is not null then
    r.quanta := v_affordable;
    k.called := r;
    k.reading := turns_read(p_lane, r.keys, r.quanta, r.cursors);
  end if;
  return k;
end $$;

-- turns_fit: cut what groups have to no more bytes than the claim may take, and before a job that must run alone: the
-- turn of the group that is too much goes on with the next claim, and those after it wait. One job goes in any case
-- where the claim has nothing yet; when it must run alone, nothing goes with it. No keys: nothing fits.
create or replace function turns_fit(o claim_order, k turns_picked, p_batches boolean) returns turns_picked
language plpgsql as $$
declare
  r turns_called := k.called;
  v_reading constant turns_reading := k.reading;
  v_back constant boolean := (k.back).jobs is not null;
  v_least constant int := case when o.is_first and not v_back then 1 else 0 end;
  v_alone constant int := array_position(v_reading.alones, true);
  v_fit constant int := least(
    greatest(jobs_that_fit(v_reading.jobs, o.max_bytes - coalesce((k.back).bytes, 0)), v_least),
    case when v_alone is not null then greatest(v_alone - 1, v_least) end);
  v_groups int;
  v_quantum int;
begin
  k.stop := k.stop or v_alone is not null;
  if v_fit >= coalesce(cardinality(v_reading.jobs), 0) then
    return k;
  end if;
  k.stop := true;
  v_groups := coalesce(v_reading.groups[v_fit], 0);
  if v_groups = 0 then
    r.quanta := array_fill(0, array[cardinality(r.keys)]);
    k.rest := 0;
    if not v_back then
      r.keys := null;
    else  -- what came back has been taken, and goes
      k.reading := turns_read(o.lane, r.keys, r.quanta, r.cursors);
    end if;
  else
    v_quantum := (select count(*) from unnest(v_reading.groups[1:v_fit]) x where x = v_groups);
    k.rest := r.quanta[v_groups] - v_quantum + case when v_groups = cardinality(r.keys) then k.rest else 0 end;
    k.last_place := case when p_batches then least(r.last_place, (select min(x) - 1
      from unnest(r.places[v_groups + 1:]) x)) else r.places[v_groups] end;
    r.keys := r.keys[1:v_groups];
    r.quanta := r.quanta[1:v_groups - 1] || v_quantum;
    k.reading := turns_read(o.lane, r.keys, r.quanta, r.cursors[1:v_groups]);
  end if;
  k.called := r;
  return k;
end $$;
