-- lane_take: claim jobs of one lane that belong to no group. The caller has the lane's lock.
-- Writes: lane_cursor, claim, tally, postponed; agenda where jobs are taken by their ids.
create or replace function lane_take(o claim_order) returns claim_taken
language plpgsql as $$
begin
  return tracks_take(o, (select c from lane_cursor c where c.track = o.lane order by c.seq desc limit 1),
    (select c from lane_cursor c where c.track = again_of(o.lane) order by c.seq desc limit 1), null);
end $$;

-- tracks_take: claim jobs from where two cursors stand: of fresh jobs, and of those claimable again. Both tracks are
-- merged by job id, so that the oldest claimable job goes first. A claim's jobs share a ring child, and, where the
-- lease grows, an attempt number; a job that must run alone is claimed alone. p_seen: read no further than this
-- snapshot (aside_take).
create or replace function tracks_take(o claim_order, c_f lane_cursor, c_a lane_cursor, p_seen pg_snapshot)
  returns claim_taken
language plpgsql as $$
declare
  f track_reading;
  a track_reading;
  m tracks_merged;
  t claim_taken := (null, 0, 0, false, false)::claim_taken;
  h claim_taken;
  v_any_f boolean; v_any_a boolean; v_xmax bigint;
  v_moved boolean;  -- assigned, because that costs less than perform
  v_back agenda;
  v_k int; v_full int; v_slot smallint; v_from_a int;
begin
  v_xmax := xmax_now();
  -- Most tracks are empty most of the time. One is read only when it has something, or its cursor may enter the next
  -- ring child, or stands in the future.
  select exists (select from ticket k
           where k.slot = ticket_slot(c_f.head_xid) and k.lane = c_f.track
             and (k.xid, k.id) >= (c_f.head_xid, c_f.head_ticket)
             and not (k.xid = c_f.head_xid and k.id = c_f.head_ticket and cardinality(k.jobs) <= c_f.head_offset)),
         exists (select from ticket k
           where k.slot = ticket_slot(c_a.head_xid) and k.lane = c_a.track
             and (k.xid, k.id) >= (c_a.head_xid, c_a.head_ticket)
             and not (k.xid = c_a.head_xid and k.id = c_a.head_ticket and cardinality(k.jobs) <= c_a.head_offset))
    into v_any_f, v_any_a;
  if v_any_f or cardinality(c_f.late) > 0 or ring_turn(v_xmax) <> ring_turn(c_f.head_xid) or v_xmax < c_f.head_xid then
    f := track_read(c_f, o.wanted, p_seen);
  end if;
  if v_any_a or cardinality(c_a.late) > 0 or ring_turn(v_xmax) <> ring_turn(c_a.head_xid) or v_xmax < c_a.head_xid then
    a := track_read(c_a, o.wanted, p_seen);
  end if;
  if o.is_serial then
    v_back := chain_first(o.lane);
    if v_back.job_id < coalesce(least(f.jobs[1], a.jobs[1]), 9223372036854775807) then
      return chain_take(o, v_back);
    end if;
  end if;
  if f.jobs is null and a.jobs is null then
    v_moved := track_advance(f, 0);
    v_moved := track_advance(a, 0);
    return t;
  end if;

  if a.jobs is null then
    m.jobs := f.jobs;
  else
    m := tracks_merge(f, a, o.wanted, o.lease_factor is not null);
  end if;
  v_k := coalesce(m.most, cardinality(m.jobs));
  if m.alones[1] then
    t.stop := true;
    if not o.is_first then
      return t;
    end if;
  end if;
  -- In the order of transactions days may alternate at midnight, so the first and the last job do not tell what is
  -- between them.
  v_slot := job_slot(m.jobs[1]);
  if v_k > 1 then
    v_k := least(v_k, coalesce((select min(i) - 1 from unnest(m.jobs) with ordinality u (x, i)
      where job_slot(x) <> v_slot), v_k));
  end if;
  if o.is_heavy or coalesce(f.bytes, 0) + coalesce(a.bytes, 0) > o.max_bytes then
    v_full := v_k;
    v_k := greatest(jobs_that_fit(m.jobs[1:v_k], o.max_bytes), case when o.is_first then 1 else 0 end);
    t.stop := v_k < v_full;
    if v_k = 0 then
      return t;
    end if;
  end if;
  -- a moved job may be in both tracks, once void
  v_from_a := case when a.jobs is null then 0 else (select count(*) from unnest(m.is_again[1:v_k]) x where x) end;
  if v_k < cardinality(m.jobs) then
    m.jobs := m.jobs[1:v_k]; m.attempts := m.attempts[1:v_k]; m.versions := m.versions[1:v_k];
  end if;
  if m.attempts is not null then  -- in the order in which the job rows are read below
    select array_agg(u.id order by u.id, u.i), array_agg(u.attempt order by u.id, u.i),
           array_agg(u.version order by u.id, u.i)
      into m.jobs, m.attempts, m.versions
      from unnest(m.jobs, m.attempts, m.versions) with ordinality u (id, attempt, version, i);
  end if;
  h := jobs_hand_out(o, v_slot, m.jobs, m.attempts, m.versions, coalesce(m.alones[1], false),
    case when o.is_flagged then jobs_held(m.jobs) else '{}' end, null);
  -- When everything that was read is taken, and that was less than asked for, there is no more.
  t := (h.claimed, h.jobs, h.bytes,
        v_k >= o.wanted or v_k < coalesce(cardinality(f.jobs), 0) + coalesce(cardinality(a.jobs), 0),
        t.stop)::claim_taken;
  v_moved := track_advance(f, v_k - v_from_a);
  if (a.c).seq is not null then
    v_moved := track_advance(a, v_from_a);
  end if;
  return t;
end $$;

-- tracks_merge: the first jobs of two readings, by their ids. most: up to where they may be claimed together: a job
-- that must run alone is claimed alone, and with p_alike all have one attempt number.
create or replace function tracks_merge(f track_reading, a track_reading, p_wanted int, p_alike boolean)
  returns tracks_merged
language plpgsql as $$
declare
  m tracks_merged;
  v_f int := 0;
  v_a int := 0;
begin
  if coalesce(cardinality(f.jobs), 0) = 0 and p_wanted > 0 then  -- nothing to merge: a thousand one by one took 28 ms
    m.jobs := a.jobs[1 : p_wanted]; m.attempts := a.attempts[1 : p_wanted]; m.versions := a.versions[1 : p_wanted];
    m.alones := a.alones[1 : p_wanted]; m.is_again := array_fill(true, array[coalesce(cardinality(m.jobs), 0)]);
    v_a := coalesce(cardinality(m.jobs), 0);
  end if;
  while v_f + v_a < p_wanted loop
    if v_a < cardinality(a.jobs) and (v_f >= coalesce(cardinality(f.jobs), 0) or a.jobs[v_a + 1] < f.jobs[v_f + 1]) then
      v_a := v_a + 1;
      m.jobs := m.jobs || a.jobs[v_a]; m.attempts := m.attempts || a.attempts[v_a];
      m.versions := m.versions || a.versions[v_a]; m.alones := m.alones || a.alones[v_a];
      m.is_again := m.is_again || true;
    elsif v_f < coalesce(cardinality(f.jobs), 0) then
      v_f := v_f + 1;
      m.jobs := m.jobs || f.jobs[v_f]; m.attempts := m.attempts || 1; m.versions := m.versions || 0;
      m.alones := m.alones || false; m.is_again := m.is_again || false;
    else
      exit;
    end if;
  end loop;
  m.most := case when m.alones[1] then 1
    else coalesce(array_position(m.alones, true) - 1, cardinality(m.jobs)) end;
  if p_alike then
    m.most := least(m.most, (select min(i) - 1 from unnest(m.attempts) with ordinality u (x, i)
      where x <> m.attempts[1]));
  end if;
  return m;
end $$;

-- chain_take: claim a job that came back, or came due, and is the next by its id (chained). It is claimed alone: what
-- follows is asked for again. Writes: agenda, tally; claim.
create or replace function chain_take(o claim_order, p_back agenda) returns claim_taken
language plpgsql as $$
declare
  h claim_taken;
begin
  delete from agenda g where g.job_id = (select x.job_id from agenda x
    where x.job_id = p_back.job_id and (not p_back.alone or o.is_first) for update skip locked);
  if not found then
    return (null, 0, 0, true, true)::claim_taken;
  end if;
  if p_back.chain = 0 then  -- nobody had promoted it yet
    insert into tally (lane, ready, delayed) values (o.lane, 1, -1);
  end if;
  h := jobs_hand_out(o, job_slot(p_back.job_id), array[p_back.job_id], array[p_back.attempt], array[p_back.version],
    p_back.alone, case when o.is_flagged then jobs_held(array[p_back.job_id]) else '{}' end, null);
  return (h.claimed, h.jobs, h.bytes, true, p_back.alone)::claim_taken;
end $$;
