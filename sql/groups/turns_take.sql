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
  if o.is_heavy or (k.reading).bytes + coalesce((k.back).bytes, 0) > o.max_bytes then
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
  if k.rest > 0 then
    r.quanta[cardinality(r.quanta)] := r.quanta[cardinality(r.quanta)] - k.rest;
  end if;
  k.called := r; k.keys := r.keys; k.stop := false;
  return k;
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
  if k.rest > 0 then
    r.quanta[cardinality(r.quanta)] := r.quanta[cardinality(r.quanta)] - k.rest;
  end if;
  k.called := r; k.keys := r.keys; k.stop := false;
  return k;
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

-- turns_read_ordered: what ordered groups have: fresh jobs, and those that came back or came due, merged by their ids
-- (turns_recall). While one of a group waits, nothing fresh follows. Writes: agenda, tally.
create or replace function turns_read_ordered(o claim_order, k turns_picked) returns turns_picked
language plpgsql as $$
declare
  r turns_called := k.called;
  v_fresh constant int[] := array(
    select case when u.barrier is null then u.quantum else 0 end
      from unnest(r.quanta, r.barriers) with ordinality u (quantum, barrier, i) order by u.i);
  h record;
begin
  k.reading := turns_read(o.lane, r.keys, v_fresh, r.cursors);
  h := turns_recall(o.lane, r, k.reading, v_fresh, o.max_bytes, o.is_first);
  if h.fresh <> v_fresh then
    k.reading := turns_read(o.lane, r.keys, h.fresh, r.cursors);
  end if;
  r.quanta := h.fresh;
  k.called := r;
  k.back := (h.jobs, h.attempts, h.versions, h.alones, h.groups, h.bytes, null, null, null)::turns_reading;
  k.remains := h.remains;
  k.stop := h.cut;
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

-- turns_hand_out: the jobs of groups whose turn it is, in claims of their own for each group where what runs of groups
-- is counted. Writes: as jobs_hand_out; token buckets.
create or replace function turns_hand_out(o claim_order, g group_rules, k turns_picked, p_held bigint[],
  out claimed text, out jobs int, out bytes bigint, out tokens uuid[])
language plpgsql as $$
declare
  r constant turns_called := k.called;
  v_reading constant turns_reading := k.reading;
  -- claims name their group, so that what runs of it can be counted, and what comes back stays in it
  v_named constant boolean := groups_limited(g);
  v_used int[] := array_fill(0, array[cardinality(k.keys)]);
  h record;
  t claim_taken;
begin
  jobs := 0; bytes := 0;
  for h in
    select x.slot, array_agg(x.id order by x.id, x.i) as ids, array_agg(x.attempt order by x.id, x.i) as attempts,
           array_agg(x.version order by x.id, x.i) as versions, bool_or(x.alone) as alone, min(x.g) as g
      from (select job_slot(u.id) as slot, u.*
              from unnest(v_reading.jobs, v_reading.attempts, v_reading.versions, v_reading.alones, v_reading.groups)
                with ordinality u (id, attempt, version, alone, g, i)) x
     group by x.slot, case when o.lease_factor is not null then x.attempt end, case when v_named then x.g end,
              case when x.alone then x.id end
     order by case when g.ordered = 'batches' then min(x.g) end, min(x.i)
  loop
    t := jobs_hand_out(o, h.slot, h.ids, h.attempts, h.versions, h.alone, p_held,
      case when v_named then k.keys[h.g] end);
    if t.claimed is not null then
      claimed := coalesce(claimed || ',', '') || t.claimed;
      if g.has_costs then
        tokens := tokens || claim_token(t.claimed);
      end if;
    end if;
    jobs := jobs + t.jobs; bytes := bytes + t.bytes;
    v_used[h.g] := v_used[h.g] + t.jobs;
  end loop;
  if g.has_own or g.rate is not null then
    perform buckets_spend(array_agg(group_bucket(g.queue_id, hash_of(u.key, o.lane))), array_agg(u.rate),
              array_agg(u.used))
       from unnest(r.keys, r.rates[1:cardinality(r.keys)], v_used) u (key, rate, used) where u.rate is not null;
  end if;
end $$;

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

-- turns_fit: cut what groups have to no more bytes than the claim may take: the turn of the group that is too much goes
-- on with the next claim, and those after it wait. One job goes in any case where the claim has nothing yet. No keys:
-- nothing fits.
create or replace function turns_fit(o claim_order, k turns_picked, p_batches boolean) returns turns_picked
language plpgsql as $$
declare
  r turns_called := k.called;
  v_reading constant turns_reading := k.reading;
  v_back constant boolean := (k.back).jobs is not null;
  v_fit constant int := greatest(jobs_that_fit(v_reading.jobs, o.max_bytes - coalesce((k.back).bytes, 0)),
    case when o.is_first and not v_back then 1 else 0 end);
  v_groups int;
  v_quantum int;
begin
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

-- turns_hold_back: in ordered groups nothing goes before a job that somebody holds: what was read of its group behind
-- it waits in the agenda, as if it had come back, until it is let go. Returns the reading without those. Writes:
-- agenda.
create or replace function turns_hold_back(p_lane bigint, p_keys bigint[], g turns_reading, p_held bigint[])
  returns turns_reading
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_first constant bigint[] := array(select (select min(f.job) from unnest(g.groups, g.jobs) f (g, job)
    where f.g = k and f.job = any (p_held)) from generate_subscripts(p_keys, 1) k order by k);
begin
  insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain)
  select u.job, v_now, p_lane, p_keys[u.g], coalesce(u.attempt, 1), coalesce(u.version, 0), u.alone, v_now, 1
    from unnest(g.jobs, g.attempts, g.versions, g.alones, g.groups) u (job, attempt, version, alone, g)
   where u.job > v_first[u.g] and u.job <> all (p_held)
     -- void, and not counted
     and not exists (select from amendment m where m.slot = job_slot(u.job) and m.job_id = u.job
       and m.version > coalesce(u.version, 0));
  select array_agg(u.job order by u.i), array_agg(u.attempt order by u.i), array_agg(u.version order by u.i),
    array_agg(u.alone order by u.i), array_agg(u.g order by u.i)
    into g.jobs, g.attempts, g.versions, g.alones, g.groups
    from unnest(g.jobs, g.attempts, g.versions, g.alones, g.groups)
      with ordinality u (job, attempt, version, alone, g, i)
   where (u.job > v_first[u.g]) is not true or u.job = any (p_held);
  return g;
end $$;

-- turns_recall: of ordered groups, take the jobs that came back, or came due, from the agenda: merged by id with the
-- fresh ones that were read (g, at most p_fresh of each group), up to each group's quantum and barrier. Says how many
-- fresh ones may go with them, and who has more in the agenda. Behind one that somebody else is moving nothing goes;
-- nor behind one that has too many bytes for the claim (cut), but one job goes in any case if p_first.
-- groups: whose job each is, by the place in r.keys. The caller has the lane's lock. Writes: agenda, tally.
create or replace function turns_recall(p_lane bigint, r turns_called, g turns_reading, p_fresh int[],
  p_max_bytes bigint, p_first boolean,
  out jobs bigint[], out attempts int[], out versions int[], out alones boolean[], out groups int[], out fresh int[],
    out remains boolean[], out bytes bigint, out cut boolean)
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_locked bigint[];
  v_stop bigint;
  v_back int; v_fresh int; v_fit int;
  h record;
  t record;
begin
  if exists (select from lane_purge p where p.lane = p_lane and p.leftover) then
    perform agenda_drop(array[p_lane], 10000);
  end if;
  fresh := p_fresh;
  bytes := 0;
  cut := false;
  remains := array_fill(false, array[cardinality(r.keys)]);
  for h in
    select u.g::int, min(u.quantum) as quantum, array_agg(a.job_id order by a.job_id) as ids
      from unnest(r.keys, r.quanta, r.barriers) with ordinality u (key, quantum, barrier, g)
      cross join lateral (
        select a.job_id from agenda a where a.track = u.key and a.chain is not null and a.due_at <= v_now
          and (a.job_id < u.barrier) is not false and not agenda_dropped(a)
         order by a.job_id limit u.quantum + 1) a
     group by u.g order by u.g
  loop
    v_locked := array(select a.job_id from agenda a where a.job_id = any (h.ids) for update skip locked);
    -- What was not read yet of the fresh ones may be older than what came back behind those that were.
    v_stop := least((select min(id) from unnest(h.ids) id where id <> all (v_locked)),
      case when g.more[h.g] and r.barriers[h.g] is null then (select coalesce(max(f.job), 0) + 1
        from unnest(g.groups, g.jobs) f (g, job) where f.g = h.g) end, 9223372036854775807);
    for v_look in 1 .. 2 loop
      -- Fresh ones go in the order of their track, where a late one may stand behind a younger one: each counts as the
      -- youngest so far.
      select count(*) filter (where m.is_back), count(*) filter (where not m.is_back) into v_back, v_fresh
        from (select * from (select id as place, true as is_back from unnest(h.ids) id
                             union all
                             select max(f.job) over (order by f.i), false from unnest(g.groups, g.jobs)
                               with ordinality f (g, job, i) where f.g = h.g) x
               where x.place < v_stop order by x.place, x.is_back desc limit h.quantum) m;
      exit when v_look = 2;
      v_fit := greatest(jobs_that_fit(h.ids[1:v_back], p_max_bytes - bytes),
        case when p_first and jobs is null then 1 else 0 end);
      exit when v_fit >= v_back;
      cut := true;
      v_stop := h.ids[v_fit + 1];
    end loop;
    fresh[h.g] := v_fresh;
    remains[h.g] := v_back < cardinality(h.ids);
    with gone as (
      delete from agenda a where a.job_id = any (h.ids[1:v_back]) returning *
    ), counted as (  -- those that nobody had promoted yet
      insert into tally (lane, ready, delayed) select p_lane, count(*), -count(*) from gone where chain = 0
        having count(*) > 0
    )
    select array_agg(x.job_id order by x.job_id) as ids, array_agg(x.attempt order by x.job_id) as attempts,
      array_agg(x.version order by x.job_id) as versions,
           array_agg(x.alone order by x.job_id) as alones, count(*)::int as n into t from gone x;
    bytes := bytes + jobs_bytes(t.ids);
    jobs := jobs || t.ids; attempts := attempts || t.attempts; versions := versions || t.versions; alones := alones
      || t.alones; groups := groups || array_fill(h.g, array[t.n]);
  end loop;
end $$;
