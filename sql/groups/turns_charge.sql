-- turns_charge: charge groups (p_keys, each from its start on) for the jobs of claims that were just made, and put the
-- lane's time forward. p_round: the ticket that ends the round. A job that runs alone is charged to its group. The
-- caller has the lane's lock. Writes: lane_cursor.
create or replace function turns_charge(p_lane bigint, p_tokens uuid[], p_keys bigint[], p_starts numeric[],
  p_time numeric, p_round bigint) returns void
language plpgsql as $$
begin
  update lane_cursor c
     set served = round(coalesce(p_starts[array_position(p_keys, x.track)], greatest(c.served, p_time)) + x.cost
       / coalesce(w.weight, 1), 6)
    from (select group_track(p_lane, j.group_key) as track, min(j.queue_id) as queue_id,
      sum(coalesce(j.cost, 1))::numeric as cost
            from claim k cross join lateral unnest(k.jobs) u (id) join job j on j.slot = k.slot and j.id = u.id
           where k.token = any (p_tokens) group by 1) x
    left join group_setting w on w.queue_id = x.queue_id and w.hash = hash_of(x.track, p_lane)
   where c.track = x.track and c.seq = (select max(m.seq) from lane_cursor m where m.track = x.track);
  update lane_cursor c set served = p_time, turn = p_round
   where c.track = line_of(p_lane) and c.seq = (select max(m.seq) from lane_cursor m where m.track = c.track)
     and (c.served, c.turn) is distinct from (p_time, p_round);
end $$;

-- Costs of jobs, and what groups owe. A lane has a time of its own: each round of its line adds a turn to it. A group
-- is served up to some point of that time (lane_cursor.served): each job moves it on by its cost, divided by the
-- group's weight, and while it lies ahead of the lane's time the group owes, and its turns are passed over. So groups
-- share costs by weight, whatever the cost of single jobs, and a group that was away has neither saved nor lost
-- anything.

-- turns_due: of groups whose turn has come, those that owe, and when the first of them is due; of the others, from
-- where on each is charged, and how much of its turn is left.
create or replace function turns_due(p_lane bigint, p_queue_id int, p_tickets bigint[], p_called bigint[],
  p_places int[], p_time numeric, p_turn_size int) returns turns_due
language plpgsql as $$
declare
  d turns_due;
begin
  select array_agg(x.key) filter (where x.turn > 0), array_agg(x.start) filter (where x.turn > 0),
         array_agg(least(ceil(x.weight * x.turn), 1000000000)::int) filter (where x.turn > 0),
         array_agg(x.key) filter (where x.turn <= 0), array_agg(x.place) filter (where x.turn <= 0), min(x.start)
           filter (where x.turn <= 0)
    into d.keys, d.starts, d.quanta, d.owing, d.owing_places, d.due
    from (select e.key, e.place, b.start, turn_left(b.start, p_time + p_turn_size) as turn,
      coalesce(w.weight, 1) as weight
            from (select fresh_of(u.x) as key, min(u.place) as place from unnest(p_called, p_places) u (x, place)
              group by fresh_of(u.x)) e
            left join lateral (select c.turn, c.served from lane_cursor c where c.track = e.key order by c.seq desc
              limit 1) c on true
            left join lateral (select w.weight from group_setting w
              where w.queue_id = p_queue_id and w.hash = hash_of(e.key, p_lane) limit 1) w on true
            cross join lateral (  -- what a group missed since its last turn does not lapse while it is in line
              select case when c.turn = p_tickets[e.place] then coalesce(c.served, p_time)
                else greatest(c.served, p_time) end as start) b) x;
  return d;
end $$;

-- turn_left: how much is left of a turn, for each unit of weight. Costs divided by weights leave remainders, too small
-- to be a turn.
create or replace function turn_left(p_start numeric, p_until numeric) returns numeric
language sql immutable parallel safe as $$ select p_until - p_start - 0.0005 $$;

-- turns_afford: how many jobs of each group whose turn it is it can pay for. A turn is a number of jobs, charged
-- afterwards; but a group that was left behind gets what it missed, and not more. Null when all can be paid for.
create or replace function turns_afford(g turns_reading, r turns_called) returns int[]
language plpgsql as $$
declare
  v_quanta int[];
begin
  if not exists (select from unnest(r.starts) x where turn_left(x, r.time) > 0) then
    return null;
  end if;
  v_quanta := array(
    select coalesce(f.jobs, u.quantum) from unnest(r.quanta) with ordinality u (quantum, i)
      left join (select x.g, count(*) filter (where x.before < r.quanta[x.g])::int as jobs
                   from (select u.g, sum(coalesce(j.cost, 1)) over (partition by u.g order by u.i)
                     - coalesce(j.cost, 1) as before
                           from unnest(g.jobs, g.groups) with ordinality u (id, g, i)
                             join job j on j.slot = job_slot(u.id) and j.id = u.id
                          where turn_left(r.starts[u.g], r.time) > 0) x
                  group by x.g having bool_or(x.before >= r.quanta[x.g])) f on f.g = u.i
     order by u.i);
  return nullif(v_quanta, r.quanta);
end $$;

-- turns_pass: groups that owe, up to a place in the line, get in line again without a turn. Returns them. Writes:
-- lane_cursor.
create or replace function turns_pass(p_owing bigint[], p_places int[], p_last int, p_turn bigint) returns bigint[]
language plpgsql as $$
declare
  v_passed constant bigint[] := array(select u.key from unnest(p_owing, p_places) u (key, place) where u.place <= p_last
    order by u.place);
begin
  if v_passed <> '{}' then
    update lane_cursor c set turn = p_turn where c.track = any (v_passed)
      and c.seq = (select max(m.seq) from lane_cursor m where m.track = c.track);
  end if;
  return v_passed;
end $$;
