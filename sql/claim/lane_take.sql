-- lane_take: claim up to p_wanted jobs of one lane that belong to no group. The caller has the lane's lock.
-- Both tracks are merged by job id, so that the oldest claimable job goes first. A claim's jobs share a ring child,
-- and, where the lease grows, an attempt number; a job that must run alone is claimed alone.
-- p_serial: what came back, or came due, waits in the agenda, and is taken by its id when it is the oldest (chained).
-- p_heavy: some were given a larger input than their ticket says, so each is measured. p_aside: of what was set aside
-- of it, the oldest range first. p_fresh: what waits is set aside when the oldest of it is older than that. Returns the
-- claim as JSON text (null when nothing was claimed), how many jobs it holds, how many bytes, and whether it is worth
-- asking again. Writes: lane_cursor, claim, tally, postponed, aside.
create or replace function lane_take(
  p_lane bigint, p_about text, p_wanted int, p_max_bytes bigint, p_worker text, p_lease_seconds float8,
    p_lease_factor float8,
  p_lease_cap float8, p_track_start boolean, p_first boolean, p_flagged boolean, p_shed boolean, p_aside boolean,
    p_fresh float8, p_serial boolean, p_heavy boolean,
  out claimed text, out jobs int, out bytes bigint, out more boolean, out stop boolean)
language plpgsql as $$
declare
  f track_reading;
  a track_reading;
  v_cursors lane_cursor[];
  c_f lane_cursor;
  c_a lane_cursor;
  v_any_f boolean; v_any_a boolean; v_xmax bigint;
  v_range aside;
  v_moved boolean;  -- assigned, because that costs less than perform
  v_jobs bigint[]; v_attempts int[]; v_versions int[]; v_alones boolean[]; v_again boolean[];
  v_from_f int; v_from_a int; v_k int; v_full int; v_slot smallint;
  v_back agenda;
  h record;
begin
  jobs := 0; bytes := 0; more := false; stop := false;
  if p_aside then
    select * into v_range from aside r where r.lane = p_lane order by r.n limit 1;
    v_cursors := array[aside_cursor(p_lane, v_range.n), aside_cursor(again_of(p_lane), v_range.n)];
  else
    v_cursors := array[(select c from lane_cursor c where c.track = p_lane order by c.seq desc limit 1),
                       (select c from lane_cursor c where c.track = again_of(p_lane) order by c.seq desc limit 1)];
  end if;
  c_f := v_cursors[1];
  c_a := v_cursors[2];
  v_xmax := xmax_now();
  -- Most tracks are empty most of the time. One is read only when it has something, or its cursor may enter the next
  -- ring child, or stands in the future.
  select exists (select from ticket k where k.slot = ticket_slot(c_f.head_xid) and k.lane = c_f.track
    and (k.xid, k.id) >= (c_f.head_xid, c_f.head_ticket)
                    and not (k.xid = c_f.head_xid and k.id = c_f.head_ticket
                      and cardinality(k.jobs) <= c_f.head_offset)),
         exists (select from ticket k where k.slot = ticket_slot(c_a.head_xid) and k.lane = c_a.track
           and (k.xid, k.id) >= (c_a.head_xid, c_a.head_ticket)
                    and not (k.xid = c_a.head_xid and k.id = c_a.head_ticket
                      and cardinality(k.jobs) <= c_a.head_offset))
    into v_any_f, v_any_a;
  if v_any_f or c_f.late_xids <> '{}' or ring_turn(v_xmax) <> ring_turn(c_f.head_xid) or v_xmax < c_f.head_xid then
    f := track_read(c_f, p_wanted, v_range.snapshot);
  end if;
  if v_any_a or c_a.late_xids <> '{}' or ring_turn(v_xmax) <> ring_turn(c_a.head_xid) or v_xmax < c_a.head_xid then
    a := track_read(c_a, p_wanted, v_range.snapshot);
  end if;
  if p_fresh is not null and not p_aside and readings_older(f, a, p_fresh) and lane_set_aside(p_lane) then
    f := track_read(track_cursor(p_lane), p_wanted);
    a := track_read(track_cursor(again_of(p_lane)), p_wanted);
  end if;
  if p_serial and not p_aside then
    v_back := chain_first(p_lane);
  end if;
  if f.jobs is null and a.jobs is null and v_back.job_id is null then
    v_moved := track_advance(f, 0);
    v_moved := track_advance(a, 0);
    more := v_range.n is not null and aside_end(p_lane, v_range.n);
    return;
  end if;

  if v_back.job_id < coalesce(least(f.jobs[1], a.jobs[1]), 9223372036854775807) then
    stop := v_back.alone;
    more := true;
    delete from agenda g where g.job_id = (select o.job_id from agenda o
      where o.job_id = v_back.job_id and (not v_back.alone or p_first) for update skip locked);
    if found then
      if v_back.chain = 0 then  -- nobody had promoted it yet
        insert into tally (lane, ready, delayed) values (p_lane, 1, -1);
      end if;
      v_jobs := array[v_back.job_id];
      h := jobs_hand_out(p_lane, p_about, job_slot(v_back.job_id), v_jobs, array[v_back.attempt], array[v_back.version],
        v_back.alone, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start,
        case when p_flagged then jobs_held(v_jobs) else '{}' end, null, p_shed);
      claimed := h.claimed; jobs := h.jobs; bytes := h.bytes;
    else
      stop := true;
    end if;
    return;
  elsif a.jobs is null then
    v_jobs := f.jobs;
    v_k := cardinality(v_jobs);
  else
    v_from_f := 0; v_from_a := 0;
    while v_from_f + v_from_a < p_wanted loop
      if v_from_a < cardinality(a.jobs) and (v_from_f >= coalesce(cardinality(f.jobs), 0)
        or a.jobs[v_from_a + 1] < f.jobs[v_from_f + 1]) then
        v_from_a := v_from_a + 1;
        v_jobs := v_jobs || a.jobs[v_from_a]; v_attempts := v_attempts || a.attempts[v_from_a];
        v_versions := v_versions || a.versions[v_from_a]; v_alones := v_alones || a.alones[v_from_a]; v_again := v_again
          || true;
      elsif v_from_f < coalesce(cardinality(f.jobs), 0) then
        v_from_f := v_from_f + 1;
        v_jobs := v_jobs || f.jobs[v_from_f]; v_attempts := v_attempts || 1; v_versions := v_versions
          || 0; v_alones := v_alones || false; v_again := v_again || false;
      else
        exit;
      end if;
    end loop;
    v_k := cardinality(v_jobs);
    if v_alones[1] then
      stop := true;
      if not p_first then
        return;
      end if;
      v_k := 1;
    else
      v_k := coalesce(array_position(v_alones, true) - 1, v_k);
    end if;
    if p_lease_factor is not null then
      v_k := least(v_k, coalesce((select min(i) - 1 from unnest(v_attempts) with ordinality u (x, i)
        where x <> v_attempts[1]), v_k));
    end if;
  end if;

  -- In the order of transactions days may alternate at midnight, so the first and the last job do not tell what is
  -- between them.
  v_slot := job_slot(v_jobs[1]);
  if v_k > 1 then
    v_k := least(v_k, coalesce((select min(i) - 1 from unnest(v_jobs) with ordinality u (x, i)
      where job_slot(x) <> v_slot), v_k));
  end if;
  if p_heavy or coalesce(f.bytes, 0) + coalesce(a.bytes, 0) > p_max_bytes then
    v_full := v_k;
    v_k := greatest(jobs_that_fit(v_jobs[1:v_k], p_max_bytes), case when p_first then 1 else 0 end);
    stop := v_k < v_full;
    if v_k = 0 then
      return;
    end if;
  end if;
  if v_k < cardinality(v_jobs) then
    v_jobs := v_jobs[1:v_k]; v_attempts := v_attempts[1:v_k]; v_versions := v_versions[1:v_k];
  end if;
  if v_attempts is not null then  -- in the order in which the job rows are read below
    select array_agg(u.id order by u.id, u.i), array_agg(u.attempt order by u.id, u.i),
      array_agg(u.version order by u.id, u.i)
      into v_jobs, v_attempts, v_versions from unnest(v_jobs, v_attempts, v_versions)
        with ordinality u (id, attempt, version, i);
  end if;
  h := jobs_hand_out(p_lane, p_about, v_slot, v_jobs, v_attempts, v_versions, coalesce(v_alones[1], false), p_worker,
    p_lease_seconds, p_lease_factor, p_lease_cap, p_track_start,
    case when p_flagged then jobs_held(v_jobs) else '{}' end, null, p_shed);
  claimed := h.claimed; jobs := h.jobs; bytes := h.bytes;
  -- When everything that was read is taken, and that was less than asked for, there is no more.
  more := v_k >= p_wanted or v_k < coalesce(cardinality(f.jobs), 0) + coalesce(cardinality(a.jobs), 0);
  if v_from_f is null then
    v_moved := track_advance(f, v_k);
    if a.seq is not null then
      v_moved := track_advance(a, 0);
    end if;
  else
    -- a moved job may be in both tracks, once void
    v_from_a := (select count(*) from unnest(v_again[1:v_k]) x where x);
    v_moved := track_advance(f, v_k - v_from_a);
    v_moved := track_advance(a, v_from_a);
  end if;
  if v_range.n is not null and not more then
    more := aside_end(p_lane, v_range.n);
  end if;
end $$;
