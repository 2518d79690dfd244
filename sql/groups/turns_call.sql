-- turns_call: whose turn it is: of what was read of a lane's line, the entries that count, and the groups among them
-- that may go, until their turns fill p_room. An entry counts when it is the one that the last visit of its group
-- appended, or a later one; of a group that was found empty, one of a transaction that had not ended then (in ordered
-- batches whatever the last visit found: several of a group may end at once, and who is slow to commit may be in line
-- before those who were faster). A group may not go when it is paused, has no room (groupMaxRunning, or ordered and one
-- of it runs) or no token (rate): these leave the line, and are put back by whoever makes the change. One that owes
-- (p_time: the lane's time, where jobs have costs) may not go either, but keeps its place. An ordered group goes up to
-- the first of its jobs that came back and waits for its time, is held by somebody or, in batches (group_limit: of
-- one group in one claim), runs (barriers; 0: one of another lane does). When all of them owe, the lane's time moves
-- on to the first that is due: there is always somebody who may go. The caller has the lane's lock. Writes:
-- lane_cursor, snooze.
create or replace function turns_call(o claim_order, g group_rules, s track_reading, p_most int, p_room int,
  p_turn_size int, p_time numeric) returns turns_called
language plpgsql as $$
declare
  r turns_called;
  v_called bigint[]; v_at int[];
  v_again bigint[]; v_running jsonb;
  d turns_due;
  v_queue constant int := g.queue_id;
  p_lane constant bigint := o.lane;
  v_ordered constant boolean := g.ordered is not null;
  v_batches constant boolean := coalesce(g.ordered = 'batches', false);
  v_first jsonb;
  v_now constant timestamptz := clock_now();
  v_single constant boolean := v_ordered and not v_batches;  -- one job of a group at a time
  v_most constant int := case when v_single then 1 else g.most end;
  v_rate constant jsonb := g.rate;
  v_rated constant boolean := g.has_own or g.rate is not null;
begin
  r.time := p_time;
  -- after the line was read: who put a group in line has ended its claim
  if v_most is not null or g.has_own then
    v_running := (select coalesce(jsonb_object_agg(x.hash, x.n), '{}') from (
      select hash_of(k.track, k.lane) as hash, sum(cardinality(k.jobs)) as n from claim k join lane l on l.key = k.lane
        where l.queue_id = v_queue and k.track is not null group by 1) x);
  end if;
  if v_batches then
    v_first := (select coalesce(jsonb_object_agg(x.hash, x.first), '{}') from (
      select hash_of(k.track, k.lane) as hash, min(case when k.lane = p_lane then j else 0 end) as first from claim k
        join lane l on l.key = k.lane cross join unnest(k.jobs) j where l.queue_id = v_queue and k.track is not null
        group by 1) x);
  end if;
  -- Tracks of jobs claimable again are opened when they are first named. That the group was found empty is not true any
  -- more then: nobody had looked there.
  v_again := array(select distinct x from unnest(s.jobs) x
    where x & 1 = 1 and not exists (select from lane_cursor c where c.track = x));
  if v_again <> '{}' then
    perform tracks_open(v_again, p_lane);
    update lane_cursor c set since = null from unnest(v_again) x where c.track = fresh_of(x) and c.since is not null;
  end if;
  select array_agg(u.x), array_agg(u.i) into v_called, v_at
    from (select u.x, u.i::int from unnest(s.jobs, s.tickets, s.xids) with ordinality u (x, ticket, xid, i)
            left join lateral (select c.turn, c.since from lane_cursor c where c.track = fresh_of(u.x)
              order by c.seq desc
              limit 1) c on true
           where u.ticket >= c.turn or ((c.turn is null or v_batches) and (u.xid < c.since) is not true) order by u.i
             limit p_most) u;
  r.is_all := coalesce(cardinality(v_called), 0) < p_most;
  r.last_place := v_at[cardinality(v_at)];
  loop
    if p_time is not null then
      d := turns_due(p_lane, v_queue, s.tickets, v_called, v_at, r.time, p_turn_size);
      r.owing := d.owing; r.owing_places := d.owing_places;
    end if;
    select array_agg(x.key order by x.place), array_agg(x.quantum order by x.place),
      array_agg(x.place order by x.place), array_agg(x.c order by x.place),
           array_agg(x.room order by x.place), array_agg(x.rate order by x.place),
             array_agg(x.barrier order by x.place), sum(x.quantum), max(x.live)
      into r.keys, r.quanta, r.places, r.cursors, r.rooms, r.rates, r.barriers, r.total, r.live
      from (
        select x.*, count(*) over () as live, sum(x.quantum) over (order by x.place) - x.quantum as before
          from (
            select e.key, c.c, e.place, a.room, a.rate, b.barrier,
                   least(coalesce(d.quanta[array_position(d.keys, e.key)],
                     case when v_batches then least(o.group_limit, p_room) end,
                         case when (c.c).turn = s.tickets[e.place] then (c.c).credit end,
                           coalesce(w.weight, 1) * p_turn_size), a.room) as quantum
              from (select fresh_of(u.x) as key, min(u.place) as place from unnest(v_called, v_at) u (x, place)
                group by fresh_of(u.x)) e
              left join lateral (select c from lane_cursor c where c.track = e.key order by c.seq desc
                limit 1) c on true
              left join lateral (select w.weight, w.max_running, w.rate from group_setting w
                where w.queue_id = v_queue and w.hash = hash_of(e.key, p_lane) limit 1) w on true
              cross join lateral (  -- not looked for where nothing is ordered
                select case when v_ordered then least((v_first ->> (hash_of(e.key, p_lane))::text)::bigint,
                  (select min(a.job_id) from agenda a where a.track = e.key and a.chain is not null and a.due_at > v_now
                  and not agenda_dropped(a)),
                             (select min(z.job_id) from postponed z where z.track = e.key)) end as barrier) b
              cross join lateral (
                select coalesce(w.rate, v_rate) as rate,
                       least(case when v_single then 1 else coalesce(w.max_running, v_most) end
                         - coalesce((v_running ->> (hash_of(e.key, p_lane))::text)::int, 0),
                             case when b.barrier is not null then (
                               select count(*) from (select from agenda x
                                 where x.track = e.key and x.chain is not null and x.due_at <= v_now
                                 and x.job_id < b.barrier and not agenda_dropped(x) limit p_room) n) end,
                             case when v_rated then floor(bucket_level(group_bucket(v_queue, hash_of(e.key, p_lane)),
                               coalesce(w.rate, v_rate))) end)::int as room) a
             where (a.room > 0) is not false and (e.key = any (r.owing)) is not true
               and not exists (select from pause z where z.queue_id = v_queue and z.hash = hash_of(e.key, p_lane)
                 and (z.type is null or z.type = (select l.type from lane l where l.key = p_lane)))) x) x
     where x.before < p_room or v_batches;
    exit when r.keys is not null or r.owing is null;
    r.time := d.due;
  end loop;
  -- A group that is passed over leaves the line; from now on it is known by its cursor (lane_waiting).
  if v_ordered or v_rated or v_most is not null or exists (select from pause z
    where z.queue_id = v_queue and z.hash is not null) then
    perform tracks_open(array(select distinct fresh_of(x) from unnest(v_called) x
      where (fresh_of(x) = any (r.keys)) is not true and not exists (select from lane_cursor c
        where c.track = fresh_of(x))),
      p_lane);
  end if;
  if g.is_young then  -- who ends the reason may not know this lane yet: the next claim looks again
    insert into snooze (track, lane, due_at) select distinct fresh_of(x), p_lane, v_now from unnest(v_called) x
      where (fresh_of(x) = any (r.keys)) is not true on conflict (track) do nothing;
  end if;
  if p_time is not null then
    r.starts := array(select d.starts[array_position(d.keys, k)] from unnest(r.keys) with ordinality u (k, i)
      order by u.i);
  end if;
  if v_rated then
    perform groups_snooze(p_lane, v_queue, v_rate, v_called);
  end if;
  return r;
end $$;

-- turns_sort: groups of ordered batches go in the order in which the first job of each became claimable, until p_room
-- is full, each with as many jobs as it has. Those that have nothing go too, first, so that they leave the line. The
-- line moves on to the first of those that have to wait (last_place): of those that go, entries behind it no longer
-- count afterwards.
-- p_end: where the line was read to. reading: what those that go have, where all of it is fresh and goes whole (its
-- bytes are those of all that were looked at, and so a bound); otherwise null, and it has to be read again.
create or replace function turns_sort(p_lane bigint, p_called turns_called, p_end int, p_room int,
  out called turns_called, out reading turns_reading)
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  g turns_reading := turns_read(p_lane, p_called.keys, p_called.quanta, p_called.cursors);
  v_from int[]; v_fresh boolean; v_place int;
begin
  called := p_called;
  select array_agg(x.key order by x.i) filter (where x.goes), array_agg(x.n order by x.i)
    filter (where x.goes), array_agg(x.place order by x.i) filter (where x.goes),
         array_agg(p_called.cursors[x.g] order by x.i) filter (where x.goes), array_agg(x.room order by x.i)
           filter (where x.goes), array_agg(x.rate order by x.i) filter (where x.goes),
         array_agg(x.barrier order by x.i) filter (where x.goes), sum(x.n) filter (where x.goes), min(x.place)
           filter (where not x.goes),
         array_agg(x.g::int order by x.i) filter (where x.goes), bool_and(x.back = 0 and x.barrier is null)
           filter (where x.goes)
    into called.keys, called.quanta, called.places, called.cursors, called.rooms, called.rates, called.barriers,
      called.total, v_place, v_from, v_fresh
    from (
      select x.*, sum(x.n) over (order by x.i) - x.n < p_room or x.n = 0 as goes
        from (
          select u.key, u.g, u.place, u.room, u.rate, u.barrier, back.n as back,
            least(u.quantum, back.n + case when u.barrier is null then coalesce(fresh.n, 0) else 0 end)::int as n,
                 row_number() over (order by coalesce(back.since, j.run_at) nulls first, u.g) as i
            from unnest(p_called.keys, p_called.quanta, p_called.places, p_called.rooms, p_called.rates,
              p_called.barriers) with ordinality u (key, quantum, place, room, rate, barrier, g)
            cross join lateral (
              select count(*) as n, (array_agg(a.due_at order by a.job_id))[1] as since from (
                select a.job_id, a.due_at from agenda a where a.track = u.key and a.chain is not null
                  and a.due_at <= v_now and (a.job_id < u.barrier) is not false and not agenda_dropped(a)
                  order by a.job_id limit u.quantum) a) back
            left join (select f.g, min(f.job) as first, count(*) as n from unnest(g.groups, g.jobs) f (g, job)
              group by f.g) fresh on fresh.g = u.g
            left join job j on back.since is null and j.slot = job_slot(fresh.first) and j.id = fresh.first) x) x;
  if v_fresh and called.total <= p_room and cardinality(g.cursors) = cardinality(p_called.keys) then
    reading := g;
    select array_agg(f.job order by u.i, f.n), array_agg(f.attempt order by u.i, f.n),
      array_agg(f.version order by u.i, f.n), array_agg(f.alone order by u.i, f.n),
      array_agg(u.i::int order by u.i, f.n)
      into reading.jobs, reading.attempts, reading.versions, reading.alones, reading.groups
      from unnest(g.jobs, g.attempts, g.versions, g.alones, g.groups)
        with ordinality f (job, attempt, version, alone, g, n) join unnest(v_from)
        with ordinality u (g, i) on u.g = f.g;
    reading.more := array(select g.more[u.g] from unnest(v_from) with ordinality u (g, i) order by u.i);
    reading.cursors := array(select g.cursors[u.g] from unnest(v_from) with ordinality u (g, i) order by u.i);
  end if;
  called.total := greatest(called.total, 1);
  called.last_place := coalesce(v_place - 1, case when called.is_all then p_end else called.last_place end);
end $$;
