-- queue_depth: how much waits and runs, how much of what is delayed is staged, and since when the oldest ready job
-- waits. What is paused, waits for other queues, or is behind an open breaker is blocked: not ready, and of no age.
-- Costs the same at any backlog: folded counts, the deltas not folded yet, the live claims, and one probe per lane; of
-- each paused group up to 10,000 tickets of a lane are counted. Raises: MR003.
create or replace function queue_depth(p_queue text default 'default',
  out ready bigint, out blocked bigint, out delayed bigint, out running bigint, out oldest_ready_at timestamptz,
  out oldest_age_seconds float8, out staged bigint)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id int := queue_id(p_queue);
  v_due bigint;
  v_now timestamptz := clock_now();
  v_lanes constant bigint[] := array(select key from lane_known where queue_id = v_id);
begin
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0), coalesce(sum(d.staged), 0) into ready, delayed, staged
    from (select lane, x.ready, x.delayed, x.staged from lane_depth x
          union all
          select lane, y.ready, y.delayed, y.staged from tally y) d
   where d.lane = any (v_lanes);
  select count(*) into v_due from (
    select from (select * from agenda a where a.due_at <= v_now order by a.due_at limit 10000) g
     where (g.chain = 1) is not true and g.lane = any (v_lanes) and not agenda_dropped((g.*)::agenda)) due;
  ready := ready + v_due;
  delayed := delayed - v_due;
  ready := greatest(ready, 0);
  delayed := greatest(delayed, 0);
  select coalesce(sum(cardinality(c.jobs)), 0) into running
    from claim c
    join lane l on l.key = c.lane
   where l.queue_id = v_id;
  blocked := 0;
  if ready > 0 and queue_held(v_id) then
    blocked := ready;
  elsif ready > 0 and (exists (select from pause z where z.queue_id = v_id)
                       or exists (select from breaker_event e where e.queue_id = v_id and e.kind = 'opened')) then
    blocked := least(ready, jobs_blocked(v_id));
  end if;
  ready := ready - blocked;
  if ready > 0 then
    select min(greatest(job_created_at(j.id), j.run_at)) into oldest_ready_at
      from queue_oldest(v_id, 1000, true, false) first (job)
      cross join lateral (select * from job j where j.slot = job_slot(first.job) and j.id = first.job offset 0) j;
    oldest_age_seconds := age_seconds(clock_now(), oldest_ready_at);
  end if;
end $$;

-- queue_held: whether nothing of a queue is handed out: it is paused, by a person or by a job that failed, or waits for
-- others.
create or replace function queue_held(p_queue_id int) returns boolean
language plpgsql stable as $$
begin
  return (select q.paused_at is not null
                 or exists (select from pause z where z.queue_id = q.id and z.job_id is not null)
                 or q.options ? 'waitsFor' and queue_waits(q.id) is not null
            from queue q where q.id = p_queue_id);
end $$;

-- jobs_blocked: how many of the jobs that wait in a queue, or of a type of it, are of types that are paused, or whose
-- breaker is open, and of paused groups.
create or replace function jobs_blocked(p_queue_id int, p_type text default null) returns bigint
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_lanes constant bigint[] := array(
    select l.key from lane_known l
     where l.queue_id = p_queue_id and (p_type is null or l.type = p_type)
       and exists (select from type_blocked b
                    where b.queue_id = l.queue_id and b.type = l.type and b.until > clock_now()));
  v_tracks constant bigint[] := array(
    select distinct track_of(z.hash, l.key) + a.n from lane_known l
      join pause z on z.queue_id = l.queue_id and z.hash is not null and (z.type is null or z.type = l.type)
      cross join (values (0), (1)) a (n)
     where l.queue_id = p_queue_id and (p_type is null or l.type = p_type) and l.key <> all (v_lanes));
begin
  return (
    select coalesce(sum(d.ready), 0)
      from (select x.lane, x.ready from lane_depth x union all select y.lane, y.ready from tally y) d
     where d.lane = any (v_lanes))
    + (select n.jobs from tracks_waiting(v_tracks, null, 10000) n);
end $$;

-- queue_oldest: the oldest ready job of each lane of a queue, also of those that nobody has claimed from yet. With
-- p_blocked those that are blocked count too; without, lanes of blocked types are not looked at.
create or replace function queue_oldest(p_queue_id int, p_groups int, p_aside boolean, p_blocked boolean)
  returns setof bigint
language plpgsql rows 10 as $$
declare
  v_held constant text[] := array(select b.type from type_blocked b
                                   where not p_blocked and b.queue_id = p_queue_id and b.until > clock_now());
begin
  return query
  select lane_oldest(l.key, p_groups, p_aside, p_blocked) from lane l
   where l.queue_id = p_queue_id and l.rest_xid is null and l.type <> all (v_held);
  if not exists (select from scout where queue_id = p_queue_id) then
    return;
  end if;
  return query
  select first.id from scout s
    cross join lateral (
      select u.id
        from (select k.jobs from ticket k
               where k.lane = case when s.grouped then (select n.jobs[1] from ticket n
                                                         where n.lane = line_of(s.lane)
                                                         order by n.xid, n.id limit 1)
                                   else s.lane end
               order by k.xid, k.id limit 50) k
        cross join unnest(k.jobs) u (id)
       where is_of_age(job_state(u.id), p_blocked) limit 1) first
   where s.queue_id = p_queue_id and s.type <> all (v_held) and not exists (select from lane l where l.key = s.lane);
end $$;

-- is_of_age: whether a job of this state counts for the age of the oldest.
create or replace function is_of_age(p_state text, p_blocked boolean) returns boolean
language sql immutable parallel safe as $$ select p_state = 'ready' or p_blocked and p_state = 'blocked' $$;

-- lane_oldest: the oldest job that is ready in this lane (with p_blocked: or blocked), or null. Looks at 50 jobs of
-- each of the lane's own tracks and at the next one of each of p_groups groups in line at most, because cancelled and
-- expired ones may stand in front; where there may be more, and none was blocked, it answers with the first of them.
-- Paused groups that still stand in line are no reason to look at fewer of the others.
create or replace function lane_oldest(p_lane bigint, p_groups int default 1000, p_aside boolean default true,
  p_blocked boolean default false) returns bigint
language plpgsql as $$
declare
  v_groups int := p_groups;
  v_id bigint;
  v_state text;
  v_first bigint;
  v_seen int := 0;
  v_any boolean := false;  -- one that is blocked was met
begin
  if not p_blocked then
    v_groups := least(1000, p_groups + (select count(*) from pause z
                                          where z.queue_id = (select l.queue_id from lane l where l.key = p_lane)
                                            and z.group_key is not null));
  end if;
  for v_id in
    select id from unnest(lane_next(p_lane, 50, v_groups, 1) || case when p_aside then aside_next(p_lane, 50) end) id
     order by id limit 200
  loop
    v_state := job_state(v_id);
    if is_of_age(v_state, p_blocked) then
      return v_id;
    end if;
    v_any := v_any or v_state = 'blocked';
    v_first := coalesce(v_first, v_id);
    v_seen := v_seen + 1;
  end loop;
  return case when not v_any and v_seen >= 50 then v_first end;
end $$;

-- lanes_open: lanes in which something waits that neither a pause of the queue or of the type, nor a queue that it
-- waits for, nor an open breaker holds back; those p_limit that have most.
create or replace function lanes_open(p_limit int) returns setof bigint
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_queues constant int[] := array(
    select q.id from queue q
     where q.paused_at is not null or q.options ? 'waitsFor' and queue_waits(q.id) is not null
    union
    select z.queue_id from pause z where z.job_id is not null);
begin
  return query
  with held as materialized (
    select b.queue_id, b.type from type_blocked b where b.until > clock_now()
  )
  select d.lane
    from (select x.lane, sum(x.ready) as ready
            from (select y.lane, y.ready from lane_depth y union all select t.lane, t.ready from tally t) x
           group by x.lane having sum(x.ready) > 0) d
    join lane_known l on l.key = d.lane
   where l.queue_id <> all (v_queues)
     and not exists (select from held h where h.queue_id = l.queue_id and h.type = l.type)
   order by d.ready desc, d.lane limit p_limit;
end $$;

-- lane_next: what stands first in a lane, in the order of turns: p_own jobs of each of its own tracks, and p_each of
-- each of p_groups groups in line. Moves nothing.
create or replace function lane_next(p_lane bigint, p_own int, p_groups int, p_each int) returns bigint[]
language plpgsql as $$
declare
  v_jobs bigint[] := array(
    select id from unnest(
      (track_read(track_cursor(p_lane), p_own)).jobs
      || (track_read(track_cursor(again_of(p_lane)), p_own)).jobs) id
     order by id);
  v_line bigint[];
  v_cursors lane_cursor[];
begin
  if exists (select from lane where key = p_lane and grouped) then
    select array_agg(e.key order by e.i), array_agg(c.c order by e.i) into v_line, v_cursors
      from (select fresh_of(u.x) as key, min(u.i) as i
              from unnest((track_read(track_cursor(line_of(p_lane)), p_groups)).jobs) with ordinality u (x, i)
             group by 1) e
      left join lateral (select c from lane_cursor c where c.track = e.key order by c.seq desc limit 1) c on true;
    if v_line is not null then
      v_jobs := v_jobs || (turns_read(p_lane, v_line, array_fill(p_each, array[cardinality(v_line)]), v_cursors)).jobs;
    end if;
  end if;
  return v_jobs;
end $$;

-- lane_age: for how many seconds the job that is next in a lane could have run.
create or replace function lane_age(p_lane bigint) returns float8
language sql volatile as $$
  select greatest(0, coalesce(max(date_part('epoch', clock_now() - greatest(j.run_at, job_created_at(j.id)))), 0))
    from unnest(lane_next(p_lane, 1, 1, 1)) n (id) join job j on j.slot = job_slot(n.id) and j.id = n.id
$$;
