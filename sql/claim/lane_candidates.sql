-- lane_candidates: lanes that may have something to claim, in the order to try them, with all that a claim must know of
-- them. By priority, then by the oldest job; where there are groups, by who has been in line the longest. With
-- agingSeconds, a lane is one step more urgent for each time that its next job has waited. Lanes of which something was
-- set aside come a second time, at the end (asides_offer). Where queues are crowded, some lanes by chance
-- (lanes_window), more of them until one has something; null when there are still others. As one array, which costs
-- less than rows. Without locks, so only a hint: lane_take decides. One lane alone is not probed.
create or replace function lane_candidates(w claim_scene, p_types text[]) returns lane_candidate[]
language plpgsql volatile as $$
declare
  v_most int := 16;
  v_keys bigint[];
  v_lanes lane_candidate[];
  v_probed lane_candidate[];
begin
  loop
    if w.is_crowded then
      -- From another place each time: claims empty lanes one after another, so that what has nothing lies together.
      v_keys := lanes_window(w.queue_ids, p_types, (random() * 2147483647)::int, v_most);
    end if;
    v_lanes := lanes_read(w.queue_ids, p_types, w.cell, v_keys);
    v_probed := lanes_probe(v_lanes);
    if w.has_asides then
      v_probed := v_probed || asides_offer(v_lanes);
    end if;
    if not w.is_crowded or v_probed <> '{}' or cardinality(v_keys) < v_most then
      return v_probed;
    elsif v_most > 1000 then
      return null;
    end if;
    v_most := v_most * 4;
  end loop;
end $$;

-- lanes_read: lanes of queues that nothing holds back, with all that a claim must know of them, in the order of
-- priorities; those that rest are left out. p_keys: only these.
create or replace function lanes_read(p_queue_ids int[], p_types text[], p_cell jsonb, p_keys bigint[])
  returns lane_candidate[]
language plpgsql volatile as $$
begin
  return array(
    select (k.key, k.priority,
            lane_about(q.name, k.type, k.priority),
            coalesce((o.options ->> 'leaseSeconds')::float8, 30), (o.options ->> 'leaseFactor')::float8,
              (o.options ->> 'leaseCapSeconds')::float8,
            case when q.options ?| '{maxRunning,rate}' or ty.options ?| '{maxRunning,rate}' or k.resources is not null
              or b.open_until is not null
                 then lane_limits(q.id, q.options, k.type, ty.options, k.resources, b.open_until is not null) end,
            case when k.grouped then group_rules_of(q.id, q.options, k.costs, k.born_xid) end,
            (q.options ->> 'freshnessSeconds')::float8, (o.options ->> 'agingSeconds')::float8, k.heavy)::lane_candidate
      from unnest(p_queue_ids) u (id) join queue q on q.id = u.id and q.paused_at is null
      cross join lateral (
        select k.* from lane k where p_keys is null and k.queue_id = q.id and k.rest_xid is null
        union all
        -- by their keys, whatever a plan made for few lanes thinks
        select k.* from unnest(p_keys) w (key) cross join lateral (select * from lane k where k.key = w.key offset 0) k
          where k.queue_id = q.id) k
      left join job_type ty on ty.type = k.type
      cross join lateral (select p_cell || q.options || coalesce(ty.options, '{}') as options) o
      left join lateral (select e.open_until from breaker_event e
        where (q.options ? 'breaker' or ty.options ? 'breaker')
          and e.queue_id = q.id and e.type = k.type and e.kind <> 'failed' order by e.id desc limit 1) b on true
     where (p_types is null or k.type = any (p_types))
       and not exists (select from pause z where z.queue_id = q.id and coalesce(z.type = k.type, true)
         and z.group_key is null)
       and not (q.options ? 'waitsFor' and queue_waits(k.queue_id) is not null)
       and (b.open_until > clock_now()) is not true
     order by k.priority, k.key);
end $$;

-- lanes_probe: of lanes, those that may have something, in the order to try them. The next ticket of each track is
-- looked at; a late transaction that has ended counts as the oldest.
create or replace function lanes_probe(p_lanes lane_candidate[]) returns lane_candidate[]
language plpgsql volatile as $$
declare
  v_grouped boolean;
begin
  if cardinality(p_lanes) < 2 then
    return p_lanes;
  end if;
  v_grouped := exists (select from unnest(p_lanes) u where (u.groups).queue_id is not null);
  return array(
    select u::lane_candidate
      from unnest(p_lanes) u
      cross join lateral (
        select min(coalesce(case when v_grouped then n.xid else n.job end,
                            case when cardinality(c.late) > 0 and late_ended(c.late) then 0 end)) as oldest
          from (values (u.key), (again_of(u.key)),
                       (case when (u.groups).queue_id is not null then line_of(u.key) end)) track (key)
          cross join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c
          left join lateral (
            select n.jobs[1] as job, n.xid from ticket n
             where n.lane = track.key and (n.xid, n.id) >= (c.head_xid, c.head_ticket)
               and not (n.xid = c.head_xid and n.id = c.head_ticket and cardinality(n.jobs) <= c.head_offset)
             order by n.xid, n.id limit 1) n on true) log
      cross join lateral (
        select least(log.oldest, case when u.limits @? '$[*].serial' then (
                 select case when v_grouped then 0 else o.job_id end from chain_first(u.key) o
                  where o.job_id is not null) end) as oldest) first
     where first.oldest is not null
     order by lane_urgency(u.key, u.priority, u.aging), first.oldest, u.key);
end $$;

-- lane_urgency: a lane's priority, one step more urgent for each time of p_aging seconds that its next job has waited.
create or replace function lane_urgency(p_lane bigint, p_priority int, p_aging float8) returns float8
language sql volatile as $$
  select case when p_aging is null then p_priority else p_priority - floor(lane_age(p_lane) / p_aging) end
$$;

-- lane_about: what a claim tells of its lane, as members of an object.
create or replace function lane_about(p_queue text, p_type text, p_priority int) returns text
language sql stable parallel safe as $$
  select '"queue":' || to_json(p_queue) || ',"type":' || to_json(p_type) || ',"priority":' || p_priority
$$;

-- late_ended: whether one of some late transactions has ended, so that what it wrote can be read.
create or replace function late_ended(p_late late_place[]) returns boolean
language plpgsql stable as $$
begin
  return exists (select from unnest(p_late) l where xid_seen(l.xid, pg_current_snapshot()));
end $$;

-- group_rules_of: how a lane treats its groups.
create or replace function group_rules_of(p_queue_id int, p_options jsonb, p_costs boolean, p_born_xid bigint)
  returns group_rules
language plpgsql stable as $$
begin
  return (p_queue_id, nullif(p_options ->> 'ordered', 'false'), (p_options ->> 'groupMaxRunning')::int,
    p_options -> 'groupRate',
    exists (select from group_setting s where s.queue_id = p_queue_id
      and (s.max_running is not null or s.rate is not null)),
    p_costs, chained(p_options, false), p_born_xid >= xmin_now())::group_rules;
end $$;

-- Lanes that rest. A queue may have had very many types or sets of resources; each is a lane, and a claim cannot look
-- at all of them. In a queue with more lanes than a claim looks at (crowd_from), those that have nothing are put to
-- rest: claims look at them no more, and whoever enqueues into one announces it as if it were new (lane_scout), which
-- wakes it (lane_discover).
--
-- Who enqueued without seeing that a lane rests has not announced it. But its transaction had its number before it
-- looked. So whoever first sees the rest committed, and gets a number after that, has a higher one than all of those
-- (rest_xid); until every transaction below it has ended, the lane is looked at from time to time, and then once more:
-- if it still has nothing it is asleep, and nobody looks again. A scout is written together with the job, so what comes
-- later is announced. In repeatable read a snapshot may be older than its number; there every lane is announced.
--
-- The row of a lane is locked while that is decided, and so it is by who wakes it: neither can miss the other.

-- crowd_from: with so many lanes that do not rest, a queue is crowded: a claim looks at some of them by chance
-- (lanes_window).
create or replace function crowd_from() returns int
language sql immutable parallel safe as $$ select 64 $$;

-- lanes_window: some lanes of crowded queues, from a place on, at most p_most of each queue and priority; for given
-- types, of each of them.
create or replace function lanes_window(p_queue_ids int[], p_types text[], p_from int, p_most int) returns bigint[]
language plpgsql stable as $$
begin
  if p_types is null then
    return array(
      select w.key from unnest(p_queue_ids) q (id) cross join generate_series(0, 10) p cross join lateral (
        (select k.key from lane k where k.queue_id = q.id and k.priority = p and k.rest_xid is null
          and k.place >= p_from order by k.place limit p_most) union all
        (select k.key from lane k where k.queue_id = q.id and k.priority = p and k.rest_xid is null and k.place < p_from
          order by k.place limit p_most) limit p_most) w);
  end if;
  return array(
    select x.key from (
      select w.key, row_number() over (partition by q.id, w.priority order by w.place < p_from, w.place) as n
        from unnest(p_queue_ids) q (id) cross join (select distinct unnest(p_types) as type) t
          cross join generate_series(0, 10) p cross join lateral (
          (select k.key, k.priority, k.place from lane k
            where k.queue_id = q.id and k.type = t.type and k.priority = p and k.rest_xid is null and k.place >= p_from
              order by k.place limit p_most) union all
          (select k.key, k.priority, k.place from lane k
            where k.queue_id = q.id and k.type = t.type and k.priority = p and k.rest_xid is null and k.place < p_from
              order by k.place limit p_most)) w) x
     where x.n <= p_most);
end $$;
