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
