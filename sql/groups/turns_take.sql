-- turns_take: claim up to p_wanted jobs of a lane that has groups: one turn each, in the order in which they got in
-- line, as long as there is room. A turn is as many jobs as the group's weight, times a two-hundredth of the room, or
-- more when there are fewer groups than room. A group that has more gets in line again, at the end; a turn that did not
-- fit goes on with the next claim. Jobs without a group have a turn as if they were one. The line is a track like
-- others (line_of(lane)), whose tickets name tracks; producers append to it too, so a group may be named again although
-- it
-- is in line: lane_cursor.turn tells which entry counts (turns_call). Where what runs of a group is limited
-- (groupMaxRunning; ordered: one at a time), each group has claims of its own, which name it: whoever ends one of them
-- puts it in line again (claim_announce). Ordered groups go by the ids of their jobs: those that came back, or came
-- due, wait in the agenda and are taken from there (turns_recall). In batches several of a group may run, handed out by
-- one claim. Where jobs have costs, groups are charged for what they took (turns_charge), and pass their turns while
-- they owe. The caller has the lane's lock, and with limits that of the queue's limits. Returns as lane_take. Writes:
-- lane_cursor, ticket, claim, tally, postponed.
create or replace function turns_take(
  p_lane bigint, p_grouping jsonb, p_about text, p_wanted int, p_max_bytes bigint, p_worker text,
    p_lease_seconds float8, p_lease_factor float8,
  p_lease_cap float8, p_track_start boolean, p_first boolean, p_flagged boolean, p_shed boolean,
  out claimed text, out jobs int, out bytes bigint, out more boolean, out stop boolean)
language plpgsql set enable_hashagg = off as $$
declare
  s track_reading;
  r turns_called;
  g turns_reading;
  c_line lane_cursor := track_cursor(line_of(p_lane));
  c_own lane_cursor := track_cursor(p_lane);
  v_costs constant boolean := p_grouping ? 'costs';
  v_ordered constant boolean := p_grouping ? 'ordered';
  v_batches constant boolean := coalesce(p_grouping ->> 'ordered' = 'batches', false);
  -- claims name their group, so that what runs of it can be counted, and what comes back stays in it
  v_named constant boolean := p_grouping ?| '{own,most,rate,ordered}';
  v_rated constant boolean := p_grouping ?| '{own,rate}';
  -- who ends from now on may be unseen below, and counts
  v_low constant bigint := case when v_ordered then xmin_now() end;
  v_time numeric := case when v_costs then coalesce(c_line.served, 0) end;
  v_turn_size int := greatest(1, p_wanted / 200);
  v_need constant int := greatest(p_wanted / v_turn_size, case when v_costs then 50 end);  -- with costs, many may owe
  -- those who have waited longest are looked for among them
  v_most constant int := v_need * 2 + case when v_batches then 20 else 0 end;
  v_look int := v_need + case when v_batches then 50 else 20 end;
  v_passed int := 0;
  v_own_turn boolean;
  v_tokens uuid[];
  v_keys bigint[];
  v_back boolean := false;  -- some jobs of ordered groups came back
  v_back_bytes bigint := 0;
  v_left boolean[];  -- and these have more of them
  v_held bigint[] := '{}';  -- by one look: who holds a job from now on waits for this claim
  v_factor int; v_rest int; v_last int; v_cut int; v_used int[]; v_turn bigint; v_round boolean;
  v_moved boolean;  -- assigned, because that costs less than perform
  t record;
  h record;
begin
  jobs := 0; bytes := 0; more := false; stop := false;
  s := track_read(c_line, v_look);

  -- Jobs without a group.
  v_own_turn := s.jobs is null or ((c_own.turn is null or c_own.turn <= s.tickets[1])
    and (not v_costs or turn_left(coalesce(c_own.served, 0), v_time + v_turn_size) > 0));
  if v_own_turn then
    t := lane_take(p_lane, p_about, case when s.jobs is null then p_wanted
      else greatest(1, p_wanted / (1 + cardinality(s.jobs))) end, p_max_bytes,
                   p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start, p_first, p_flagged, p_shed,
                     false, null, p_grouping ? 'serial', p_grouping ? 'heavy');
    claimed := t.claimed; jobs := t.jobs; bytes := t.bytes; more := t.more; stop := t.stop;
    if jobs > 0 and s.jobs is not null then
      update lane_cursor set turn = nextval('ticket_id_seq')
        where track = p_lane and seq = (select max(c.seq) from lane_cursor c where c.track = p_lane);
    end if;
    if v_costs and jobs > 0 then
      perform turns_charge(p_lane, array[claim_token(t.claimed)], array[p_lane], array[greatest(c_own.served, v_time)],
        case when s.jobs is null then greatest(c_own.served, v_time) else v_time end, c_line.turn);
    end if;
    if s.jobs is null or stop or jobs = p_wanted then
      v_moved := track_advance(s, 0);
      return;
    end if;
  end if;

  -- Whose turn it is.
  loop
    r := turns_call(p_lane, p_grouping, s, v_most, p_wanted - jobs, v_turn_size, v_time);
    exit when r.keys is not null;
    v_moved := track_advance(s, case when r.is_all then cardinality(s.jobs) else r.last_place end);
    v_passed := v_passed + 1;
    if r.is_all and cardinality(s.jobs) < v_look then
      more := not v_own_turn;  -- nobody in line may go, but there may be jobs without a group
      return;
    elsif v_passed = 20 then
      stop := true;  -- up to 400,000 entries that do not count are enough for one claim; the caller asks again
      return;
    elsif r.is_all then
      v_look := least(v_look * 10, 20000);
    end if;
    s := track_read(track_cursor(line_of(p_lane)), v_look);
    if s.jobs is null then
      v_moved := track_advance(s, 0);
      more := not v_own_turn;
      return;
    end if;
  end loop;

  if v_batches then
    t := turns_sort(p_lane, r, cardinality(s.jobs), p_wanted - jobs);
    r := t.called; g := t.reading;
  end if;

  -- When all that are in line fit, their turns grow to fill the room. What does not fit of the last one's turn is left
  -- for the next claim.
  r.is_all := r.is_all and cardinality(r.keys) = r.live;
  v_factor := (p_wanted - jobs) / r.total;
  if r.is_all and cardinality(s.jobs) < v_look and v_factor > 1 and not v_batches then
    v_turn_size := v_turn_size * v_factor;
    select array_agg(least(u.q * v_factor, u.room) order by u.i), sum(least(u.q * v_factor, u.room))
      into r.quanta, r.total from unnest(r.quanta, r.rooms) with ordinality u (q, room, i);
  end if;
  v_rest := greatest(r.total - (p_wanted - jobs), 0);
  -- when all go, what follows does not count
  v_last := case when v_batches then r.last_place when v_rest = 0 and r.is_all then cardinality(s.jobs)
    else r.places[cardinality(r.places)] end;
  if v_rest > 0 then
    r.quanta[cardinality(r.quanta)] := r.quanta[cardinality(r.quanta)] - v_rest;
  end if;

  -- What they have, as much of it as they can pay for, and as many bytes as fit, which may cut the turn of the last of
  -- them.
  if p_shed then  -- past what was dropped, so that nobody's turn is wasted on it
    perform track_shed(p_lane, track_cursor(k.key + o.again), null) from unnest(r.keys) k (key)
      cross join (values (0), (1)) o (again);
    r.cursors := array(select c.c from unnest(r.keys) with ordinality k (key, i)
      left join lateral (select c from lane_cursor c where c.track = k.key order by c.seq desc limit 1) c on true
      order by k.i);
  end if;
  v_keys := r.keys;
  if g.low is null or p_shed then  -- not read yet, or something was dropped since
    if v_ordered then  -- while one of a group waits, nothing fresh follows
      v_used := array(select case when u.barrier is null then u.quantum else 0 end from unnest(r.quanta, r.barriers)
        with ordinality u (quantum, barrier, i) order by u.i);
      g := turns_read(p_lane, r.keys, v_used, r.cursors);
      h := turns_recall(p_lane, r, g, v_used, p_max_bytes, p_first and jobs = 0);
      r.quanta := h.fresh;
      v_back := h.jobs is not null;
      v_back_bytes := h.bytes;
      stop := h.cut;
      v_left := h.remains;
    end if;
    if g.low is null or r.quanta <> v_used then
      g := turns_read(p_lane, r.keys, r.quanta, r.cursors);
    end if;
  end if;
  if v_costs and g.jobs is not null then
    v_used := turns_afford(g, r);
    if v_used is not null then
      r.quanta := v_used;
      g := turns_read(p_lane, r.keys, r.quanta, r.cursors);
    end if;
  end if;
  if g.bytes + v_back_bytes > p_max_bytes or p_grouping ? 'heavy' then
    t := turns_fit(g, p_max_bytes - v_back_bytes, p_first and jobs = 0 and not v_back);
    if t.groups = 0 then
      stop := true;
      r.quanta := array_fill(0, array[cardinality(r.keys)]);
      v_rest := 0;
      if not v_back then  -- what came back has been taken, and goes
        v_moved := track_advance(s, 0);
        return;
      end if;
      g := turns_read(p_lane, r.keys, r.quanta, r.cursors);
    elsif t.groups is not null then
      stop := true;
      v_rest := r.quanta[t.groups] - t.quantum + case when t.groups = cardinality(r.keys) then v_rest else 0 end;
      v_last := case when v_batches then least(r.last_place, (select min(x) - 1 from unnest(r.places[t.groups + 1:]) x))
        else r.places[t.groups] end;
      r.keys := r.keys[1:t.groups];
      r.quanta := r.quanta[1:t.groups - 1] || t.quantum;
      g := turns_read(p_lane, r.keys, r.quanta, r.cursors[1:t.groups]);
    end if;
  end if;

  if v_back then
    g.jobs := h.jobs || g.jobs; g.attempts := h.attempts || g.attempts; g.versions := h.versions
      || g.versions; g.groups := h.groups || g.groups;
    g.alones := h.alones || g.alones;
  end if;
  g.low := least(g.low, v_low);

  if p_flagged then
    v_held := jobs_held(g.jobs);
    if v_ordered and v_held <> '{}' then
      g := turns_hold_back(p_lane, v_keys, g, v_held);
    end if;
  end if;

  -- Their jobs, in claims of their own where they are counted.
  v_used := array_fill(0, array[cardinality(v_keys)]);
  for h in
    select x.slot, array_agg(x.id order by x.id, x.i) as ids, array_agg(x.attempt order by x.id, x.i) as attempts,
      array_agg(x.version order by x.id, x.i) as versions,
           bool_or(x.alone) as alone, min(x.g) as g
      from (select job_slot(u.id) as slot, u.* from unnest(g.jobs, g.attempts, g.versions, g.alones, g.groups)
        with ordinality u (id, attempt, version, alone, g, i)) x
     group by x.slot, case when p_lease_factor is not null then x.attempt end, case when v_named then x.g end,
       case when x.alone then x.id end order by case when v_batches then min(x.g) end, min(x.i)
  loop
    t := jobs_hand_out(p_lane, p_about, h.slot, h.ids, h.attempts, h.versions, h.alone, p_worker, p_lease_seconds,
      p_lease_factor, p_lease_cap, p_track_start, v_held,
                       case when v_named then v_keys[h.g] end, p_shed);
    if t.claimed is not null then
      claimed := coalesce(claimed || ',', '') || t.claimed;
      if v_costs then
        v_tokens := v_tokens || claim_token(t.claimed);
      end if;
    end if;
    jobs := jobs + t.jobs; bytes := bytes + t.bytes;
    v_used[h.g] := v_used[h.g] + t.jobs;
  end loop;
  if v_rated then
    perform buckets_spend(array_agg(group_bucket((p_grouping ->> 'queue')::int, hash_of(u.key, p_lane))),
      array_agg(u.rate),
      array_agg(u.used))
       from unnest(r.keys, r.rates[1:cardinality(r.keys)], v_used) u (key, rate, used) where u.rate is not null;
  end if;

  -- Back in line, those that have more, and the line moves on.
  if true = any (v_left) then
    g.more := array(select u.more or u.remains from unnest(g.more, v_left[1:cardinality(g.more)])
      with ordinality u (more, remains, i) order by u.i);
  end if;
  v_turn := nextval('ticket_id_seq');
  v_cut := cardinality(r.keys);
  if v_rest > 0 and g.more[v_cut] and not v_batches then
    v_last := r.places[v_cut] - 1;
    v_moved := turns_advance(g, v_turn, v_cut, s.tickets[v_last + 1], v_rest, v_batches);
    g.more[v_cut] := false;
  else
    v_moved := turns_advance(g, v_turn, null, null, null, v_batches);
  end if;
  v_moved := track_advance(s, v_last);
  if v_costs then
    -- everybody in line has been visited
    v_round := s.tickets[v_last] >= coalesce(c_line.turn, 0) and s.tickets[v_last + 1] is distinct from c_line.turn;
    perform turns_charge(p_lane, v_tokens, r.keys, r.starts, r.time + case when v_round then v_turn_size else 0 end,
      case when v_round then v_turn else c_line.turn end);
    r.owing := turns_pass(r.owing, r.owing_places, v_last, v_turn);
  end if;
  insert into ticket (lane, xid, id, slot, jobs)
  select line_of(p_lane), xid_now(), v_turn, ticket_slot(xid_now()), array_agg(u.key order by u.i)
    from (select u.key, u.i from unnest(r.keys, g.more) with ordinality u (key, more, i) where u.more
      union all select x, 0 from unnest(r.owing) x) u having count(*) > 0;
  more := true;  -- there may be others in line; whoever asks once too often is told soon
end $$;

-- turns_fit: up to which group, and how many jobs of that one, no more bytes than that are read; at least one job if
-- p_first, and nulls when all of it fits.
create or replace function turns_fit(g turns_reading, p_max_bytes bigint, p_first boolean, out groups int,
  out quantum int)
language plpgsql as $$
declare
  v_k constant int := greatest(jobs_that_fit(g.jobs, p_max_bytes), case when p_first then 1 else 0 end);
begin
  if v_k < cardinality(g.jobs) then
    groups := coalesce(g.groups[v_k], 0);
    quantum := (select count(*) from unnest(g.groups[1:v_k]) x where x = groups);
  end if;
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
