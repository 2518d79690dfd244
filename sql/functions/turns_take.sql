-- turns_take: claim up to p_wanted jobs of a lane that has groups: one turn each, in the order in which they got in line, as long as there is room.
-- A turn is as many jobs as the group's weight, times a two-hundredth of the room, or more when there are fewer groups than room. A group that has more gets in line again, at the end; a turn that
-- did not fit goes on with the next claim. Jobs without a group have a turn as if they were one. The line is a track like others (lane + 2), whose tickets name
-- tracks; producers append to it too, so a group may be named again although it is in line: lane_cursor.turn tells which entry counts.
-- Where what runs of a group is limited (groupMaxRunning; ordered: one at a time), a group without room leaves the line; whoever ends one of its jobs puts it
-- back (claim_announce), and each group has claims of its own, which name it. In an ordered group nothing follows a job that waits for its retry.
-- The caller has the lane's lock, and with limits that of the queue's limits. Returns as lane_take. Writes: lane_cursor, ticket, claim, tally, postponed.
create or replace function turns_take(
  p_lane bigint, p_grouping jsonb, p_about text, p_wanted int, p_max_bytes bigint, p_worker text, p_lease_seconds float8, p_lease_factor float8,
  p_lease_cap float8, p_track_start boolean, p_first boolean, p_flagged boolean, p_shed boolean,
  out claimed text, out jobs int, out bytes bigint, out more boolean, out stop boolean)
language plpgsql set enable_hashagg = off as $$
declare
  s track_reading;
  g turns_reading;
  c_own lane_cursor := track_cursor(p_lane);
  v_line bigint := p_lane + 2;
  v_turn_size constant int := greatest(1, p_wanted / 200);
  v_need constant int := p_wanted / v_turn_size;
  v_look int := v_need + 20;
  v_most_looks constant int := 20000;
  v_called bigint[]; v_at int[]; v_all boolean; v_passed int := 0;
  v_turn bigint;
  v_keys bigint[]; v_quanta int[]; v_places int[]; v_cursors lane_cursor[]; v_total int; v_live int; v_rest int; v_last int; v_k int; v_cut int; v_fit int;
  v_moved boolean;
  v_ungrouped int := 0;
  v_odd bigint[];
  v_queue constant int := (p_grouping ->> 'queue')::int;
  v_ordered constant boolean := coalesce((p_grouping ->> 'ordered')::boolean, false);
  v_most constant int := case when v_ordered then 1 else (p_grouping ->> 'most')::int end;
  v_own constant boolean := p_grouping ? 'own';  -- some groups have limits of their own
  v_rate constant jsonb := p_grouping -> 'rate';
  v_rated constant boolean := v_own or v_rate is not null;
  v_named constant boolean := v_own or v_most is not null;  -- claims name their group, so that what runs of it can be counted
  v_running jsonb; v_rooms int[]; v_rates jsonb[]; v_used int[]; v_factor int;
  t record;
  h record;
begin
  jobs := 0; bytes := 0; more := false; stop := false;
  s := track_read(track_cursor(v_line), v_look);

  if s.jobs is null or c_own.turn is null or c_own.turn <= s.tickets[1] then
    v_ungrouped := case when s.jobs is null then p_wanted else greatest(1, p_wanted / (1 + cardinality(s.jobs))) end;
    t := lane_take(p_lane, p_about, v_ungrouped, p_max_bytes, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start, p_first, p_flagged, p_shed, false, null);
    claimed := t.claimed; jobs := t.jobs; bytes := t.bytes; more := t.more; stop := t.stop;
    if s.jobs is null or stop then
      v_moved := track_advance(s, 0);
      return;
    end if;
    if t.jobs > 0 then
      update lane_cursor set turn = nextval('ticket_id_seq') where track = p_lane and seq = (select max(c.seq) from lane_cursor c where c.track = p_lane);
    end if;
    if jobs = p_wanted then
      v_moved := track_advance(s, 0);
      return;
    end if;
  end if;

  -- Whose turn it is: entries that count, until their turns fill the room.
  loop
    if v_named then  -- after the line was read: who put a group in line has ended its claim
      v_running := (select coalesce(jsonb_object_agg(x.hash, x.n), '{}') from (
        select k.track # k.lane as hash, sum(cardinality(k.jobs)) as n from claim k join lane l on l.key = k.lane where l.queue_id = v_queue and k.track is not null group by 1) x);
    end if;
    v_odd := array(select distinct x from unnest(s.jobs) x where x & 1 = 1);  -- tracks of jobs claimable again are opened when they are first named
    if v_odd <> '{}' then
      perform tracks_open(v_odd, p_lane);
    end if;
    select array_agg(u.x), array_agg(u.i) into v_called, v_at
      from (select u.x, u.i::int from unnest(s.jobs, s.tickets, s.xids) with ordinality u (x, ticket, xid, i)
              left join lateral (select c.turn, c.since from lane_cursor c where c.track = u.x & -4 order by c.seq desc limit 1) c on true
             where u.ticket >= c.turn or (c.turn is null and (u.xid < c.since) is not true) order by u.i limit v_need * 2) u;
    select array_agg(x.key order by x.place), array_agg(x.quantum order by x.place), array_agg(x.place order by x.place), array_agg(x.c order by x.place),
           array_agg(x.room order by x.place), array_agg(x.rate order by x.place), max(x.live), coalesce(sum(x.quantum), 0)
      into v_keys, v_quanta, v_places, v_cursors, v_rooms, v_rates, v_live, v_total
      from (
        select x.*, count(*) over () as live, sum(x.quantum) over (order by x.place) - x.quantum as before
          from (
            select e.key, c.c, least(coalesce(case when (c.c).turn = s.tickets[e.place] then (c.c).credit end, coalesce(w.weight, 1) * v_turn_size), r.room) as quantum, r.room, r.rate, e.place
              from (select u.x & -4 as key, min(u.place) as place from unnest(v_called, v_at) u (x, place) group by u.x & -4) e
              left join lateral (select c from lane_cursor c where c.track = e.key order by c.seq desc limit 1) c on true
              left join lateral (select w.weight, w.max_running, w.rate from group_setting w where w.queue_id = v_queue and w.hash = e.key # p_lane limit 1) w on true
              cross join lateral (
                select coalesce(w.rate, v_rate) as rate,
                       least(case when v_ordered then 1 else coalesce(w.max_running, v_most) end - coalesce((v_running ->> (e.key # p_lane)::text)::int, 0),
                             case when v_rated then floor(bucket_level(group_bucket(v_queue, e.key # p_lane), coalesce(w.rate, v_rate))) end)::int as room) r
             where (r.room > 0) is not false
               and not (v_ordered and (exists (select from agenda a where a.job_id = (c.c).held) or exists (select from postponed o where o.job_id = (c.c).held)))
               and not exists (select from pause z where z.queue_id = v_queue and z.hash = e.key # p_lane and (z.type is null or z.type = (select l.type from lane l where l.key = p_lane)))) x) x
     where x.before < p_wanted - jobs;
    if v_rated then
      perform groups_snooze(p_lane, v_queue, v_rate, v_called);
    end if;
    v_all := coalesce(cardinality(v_called), 0) < v_need * 2;  -- that is, no other entry of what was read counts
    exit when v_keys is not null;
    v_moved := track_advance(s, case when v_all then cardinality(s.jobs) else v_at[cardinality(v_at)] end);
    v_passed := v_passed + 1;
    if v_all and cardinality(s.jobs) < v_look then
      more := v_ungrouped = 0;  -- nobody in line may go, but there may be jobs without a group
      return;
    elsif v_passed = 20 then
      stop := true;  -- up to 400,000 entries that do not count are enough for one claim; the caller asks again
      return;
    elsif v_all then
      v_look := least(v_look * 10, v_most_looks);
    end if;
    s := track_read(track_cursor(v_line), v_look);
    if s.jobs is null then
      v_moved := track_advance(s, 0);
      more := v_ungrouped = 0;
      return;
    end if;
  end loop;

  -- When all that are in line fit, their turns grow to fill the room.
  v_factor := (p_wanted - jobs) / v_total;
  v_all := v_all and cardinality(v_keys) = v_live;
  if v_all and cardinality(s.jobs) < v_look and v_factor > 1 then
    select array_agg(least(u.q * v_factor, u.room) order by u.i), sum(least(u.q * v_factor, u.room)) into v_quanta, v_total from unnest(v_quanta, v_rooms) with ordinality u (q, room, i);
  end if;
  v_last := v_places[cardinality(v_places)];
  v_rest := greatest(v_total - (p_wanted - jobs), 0);  -- what does not fit of the last one's turn
  if v_rest > 0 then
    v_quanta[cardinality(v_quanta)] := v_quanta[cardinality(v_quanta)] - v_rest;
  elsif v_all then
    v_last := cardinality(s.jobs);  -- what follows does not count
  end if;

  if p_shed then  -- past what was dropped, so that nobody's turn is wasted on it
    perform track_shed(p_lane, track_cursor(k.key + o.again), null) from unnest(v_keys) k (key) cross join (values (0), (1)) o (again);
    v_cursors := array(select c.c from unnest(v_keys) with ordinality k (key, i) left join lateral (select c from lane_cursor c where c.track = k.key order by c.seq desc limit 1) c on true order by k.i);
  end if;
  if v_ordered then  -- the head must be found before anybody has read that it is in line again
    perform tracks_open(array(select k + 1 from unnest(v_keys) k), p_lane);
  end if;
  g := turns_read(p_lane, v_keys, v_quanta, v_cursors);
  if g.bytes > p_max_bytes then  -- only as many as fit, which may cut the turn of the last of them
    v_k := greatest(jobs_that_fit(g.jobs, p_max_bytes), case when p_first and jobs = 0 then 1 else 0 end);
    if v_k < cardinality(g.jobs) then
      stop := true;
      if v_k = 0 then
        v_moved := track_advance(s, 0);
        return;
      end if;
      v_cut := g.groups[v_k];
      v_fit := (select count(*) from unnest(g.groups[1:v_k]) x where x = v_cut);
      v_rest := v_quanta[v_cut] - v_fit + case when v_cut = cardinality(v_keys) then v_rest else 0 end;
      v_last := v_places[v_cut];
      v_keys := v_keys[1:v_cut];
      v_quanta := v_quanta[1:v_cut - 1] || v_fit;
      g := turns_read(p_lane, v_keys, v_quanta, v_cursors[1:v_cut]);
    end if;
  end if;

  v_used := array_fill(0, array[cardinality(v_keys)]);
  for h in
    select x.slot, array_agg(x.id order by x.id, x.i) as ids, array_agg(x.attempt order by x.id, x.i) as attempts, array_agg(x.version order by x.id, x.i) as versions,
           bool_or(x.alone) as alone, min(x.g) as g
      from (select job_slot(u.id) as slot, u.* from unnest(g.jobs, g.attempts, g.versions, g.alones, g.groups) with ordinality u (id, attempt, version, alone, g, i)) x
     group by x.slot, case when p_lease_factor is not null then x.attempt end, case when v_named or v_rated then x.g end, case when x.alone then x.id end order by min(x.i)
  loop
    t := jobs_hand_out(p_lane, p_about, h.slot, h.ids, h.attempts, h.versions, h.alone, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start, p_flagged,
                       case when v_named then v_keys[h.g] end, p_shed);
    if t.claimed is not null then
      claimed := coalesce(claimed || ',', '') || t.claimed;
    end if;
    jobs := jobs + t.jobs; bytes := bytes + t.bytes;
    v_used[h.g] := v_used[h.g] + t.jobs;
  end loop;
  if v_rated then
    perform buckets_spend(array_agg(group_bucket(v_queue, u.key # p_lane)), array_agg(u.rate), array_agg(u.used))
       from unnest(v_keys, v_rates[1:cardinality(v_keys)], v_used) u (key, rate, used) where u.rate is not null;
  end if;

  -- Back in line, those that have more, and the line moves on.
  v_turn := nextval('ticket_id_seq');
  v_cut := cardinality(v_keys);
  if v_rest > 0 and g.more[v_cut] then
    v_last := v_places[v_cut] - 1;
    v_moved := turns_advance(g, v_turn, v_cut, s.tickets[v_last + 1], v_rest);
    g.more[v_cut] := false;
  else
    v_moved := turns_advance(g, v_turn, null, null, null);
  end if;
  v_moved := track_advance(s, v_last);
  if v_ordered then
    update lane_cursor k set held = u.job from unnest(g.groups, g.jobs) u (g, job)
     where k.track = v_keys[u.g] and k.seq = (select max(c.seq) from lane_cursor c where c.track = v_keys[u.g]);
  end if;
  insert into ticket (lane, xid, id, slot, jobs)
  select v_line, xid_now(), v_turn, ticket_slot(xid_now()), array_agg(u.key order by u.i) from unnest(v_keys, g.more) with ordinality u (key, more, i) where u.more having count(*) > 0;
  more := true;  -- there may be others in line; whoever asks once too often is told soon
end $$;
