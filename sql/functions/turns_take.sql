-- turns_take: claim up to p_wanted jobs of a lane that has groups: one turn each, in the order in which they got in line, as long as there is room.
-- A turn is as many jobs as the group's weight, times a two-hundredth of the room, or more when there are fewer groups than room. A group that has more gets in line again, at the end; a turn that
-- did not fit goes on with the next claim. Jobs without a group have a turn as if they were one. The line is a track like others (lane + 2), whose tickets name
-- tracks; producers append to it too, so a group may be named again although it is in line: lane_cursor.turn tells which entry counts.
-- The caller has the lane's lock. Returns as lane_take. Writes: lane_cursor, ticket, claim, tally, postponed.
create or replace function turns_take(
  p_lane bigint, p_queue_id int, p_about text, p_wanted int, p_max_bytes bigint, p_worker text, p_lease_seconds float8, p_lease_factor float8,
  p_lease_cap float8, p_track_start boolean, p_first boolean, p_flagged boolean,
  out claimed text, out jobs int, out bytes bigint, out more boolean, out stop boolean)
language plpgsql set enable_hashagg = off as $$
declare
  s track_reading;
  g turns_reading;
  c_own lane_cursor := track_cursor(p_lane);
  c_line lane_cursor := track_cursor(p_lane + 2);
  v_line bigint := p_lane + 2;
  v_turn_size int := greatest(1, p_wanted / 200);
  v_look int := p_wanted / greatest(1, p_wanted / 200) + 20;
  v_turn bigint;
  v_keys bigint[]; v_quanta int[]; v_places int[]; v_cursors lane_cursor[]; v_total int; v_live int; v_rest int; v_last int; v_k int; v_cut int; v_fit int;
  v_moved boolean;
  v_ungrouped int := 0;
  v_odd bigint[];
  t record;
  h record;
begin
  jobs := 0; bytes := 0; more := false; stop := false;
  s := track_read(c_line, v_look);

  if s.jobs is null or c_own.turn is null or c_own.turn <= s.tickets[1] then
    v_ungrouped := case when s.jobs is null then p_wanted else greatest(1, p_wanted / (1 + cardinality(s.jobs))) end;
    t := lane_take(p_lane, p_about, v_ungrouped, p_max_bytes, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start, p_first, p_flagged);
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
    v_odd := array(select distinct x from unnest(s.jobs) x where x & 1 = 1);  -- tracks of jobs claimable again are opened when they are first named
    if v_odd <> '{}' then
      perform tracks_open(v_odd, p_lane);
      if c_line.credit is null then
        update lane_cursor set credit = 1 where track = v_line and seq = s.seq;
        c_line.credit := 1;
      end if;
    end if;
    select array_agg(x.key order by x.place), array_agg(x.quantum order by x.place), array_agg(x.place order by x.place), array_agg(x.c order by x.place),
           max(x.live), coalesce(sum(x.quantum), 0)
      into v_keys, v_quanta, v_places, v_cursors, v_live, v_total
      from (
        select x.*, count(*) over () as live, sum(x.quantum) over (order by x.place) - x.quantum as before
          from (
            select e.key, c.c, coalesce(case when (c.c).turn = s.tickets[p.place] then (c.c).credit end, coalesce(w.weight, 1) * v_turn_size) as quantum, p.place
              from (select x & -4 as key, array_agg(ticket) as tickets, array_agg(i::int) as places
                      from unnest(s.jobs, s.tickets) with ordinality u (x, ticket, i) group by x & -4) e
              left join lateral (select c from lane_cursor c where c.track = e.key order by c.seq desc limit 1) c on true
              left join lateral (select w.weight from group_setting w where w.queue_id = p_queue_id and w.hash = e.key # p_lane limit 1) w on true
              cross join lateral (select min(u.place) as place from unnest(e.tickets, e.places) u (ticket, place) where (c.c).turn is null or u.ticket >= (c.c).turn) p
             where p.place is not null
               and not exists (select from pause z where z.queue_id = p_queue_id and z.hash = e.key # p_lane and (z.type is null or z.type = (select l.type from lane l where l.key = p_lane)))) x) x
     where x.before < p_wanted - jobs;
    exit when v_keys is not null;
    v_moved := track_advance(s, cardinality(s.jobs));
    if cardinality(s.jobs) < v_look or v_look > 100000 then
      more := more or v_look > 100000;
      return;
    end if;
    v_look := v_look * 10;
    s := track_read(track_cursor(v_line), v_look);
    if s.jobs is null then
      v_moved := track_advance(s, 0);
      return;
    end if;
  end loop;

  -- When all that are in line fit, their turns grow to fill the room.
  if cardinality(v_keys) = v_live and cardinality(s.jobs) < v_look and (p_wanted - jobs) / v_total > 1 then
    v_quanta := array(select q * ((p_wanted - jobs) / v_total) from unnest(v_quanta) with ordinality u (q, i) order by i);
    v_total := v_total * ((p_wanted - jobs) / v_total);
  end if;
  v_last := v_places[cardinality(v_places)];
  v_rest := greatest(v_total - (p_wanted - jobs), 0);  -- what does not fit of the last one's turn
  if v_rest > 0 then
    v_quanta[cardinality(v_quanta)] := v_quanta[cardinality(v_quanta)] - v_rest;
  elsif cardinality(v_keys) = v_live then
    v_last := cardinality(s.jobs);  -- what follows does not count
  end if;

  g := turns_read(p_lane, v_keys, v_quanta, v_cursors, c_line.credit is not null);
  if g.bytes > p_max_bytes then  -- only as many as fit, which may cut the turn of the last of them
    select greatest(count(*) filter (where upto <= p_max_bytes), case when p_first and jobs = 0 then 1 else 0 end) into v_k
      from (select sum(coalesce(octet_length(j.input::text), 4) + coalesce(octet_length(j.headers::text), 0) + coalesce(octet_length(j.payload) * 4 / 3, 0)) over (order by u.i) as upto
              from unnest(g.jobs) with ordinality u (id, i) join job j on j.slot = job_slot(u.id) and j.id = u.id) sizes;
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
      g := turns_read(p_lane, v_keys, v_quanta, v_cursors[1:v_cut], c_line.credit is not null);
    end if;
  end if;

  for h in
    select x.slot, array_agg(x.id order by x.id, x.i) as ids, array_agg(x.attempt order by x.id, x.i) as attempts, array_agg(x.version order by x.id, x.i) as versions
      from (select job_slot(u.id) as slot, u.* from unnest(g.jobs, g.attempts, g.versions) with ordinality u (id, attempt, version, i)) x
     group by x.slot, case when p_lease_factor is not null then x.attempt end order by 1
  loop
    t := jobs_hand_out(p_lane, p_about, h.slot, h.ids, h.attempts, h.versions, false, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start, p_flagged);
    if t.claimed is not null then
      claimed := coalesce(claimed || ',', '') || t.claimed;
    end if;
    jobs := jobs + t.jobs; bytes := bytes + t.bytes;
  end loop;

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
  insert into ticket (lane, xid, id, slot, jobs)
  select v_line, xid_now(), v_turn, ticket_slot(xid_now()), array_agg(u.key order by u.i) from unnest(v_keys, g.more) with ordinality u (key, more, i) where u.more having count(*) > 0;
  more := true;  -- there may be others in line; whoever asks once too often is told soon
end $$;
