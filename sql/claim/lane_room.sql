-- lane_room: how many of p_wanted jobs may be claimed of a lane that has limits; null when somebody else is deciding on
-- one of them just now. Whoever claims under a limit has its lock until the end of the transaction, so that what the
-- last one took is seen here, and counted.
-- wait: in how many seconds a rate that has stopped it allows for more.
-- Locks: queue_limit, type_limit, resource_limit (never waits).
create or replace function lane_room(p_lane bigint, p_limits jsonb, p_wanted int, out room int, out wait float8)
language plpgsql as $$
declare
  x record;
  v_level float8;
begin
  room := p_wanted;
  for x in select * from jsonb_to_recordset(p_limits) as x ("of" text, id int, name text, lock bigint, units int,
    most int, rate jsonb, serial boolean) loop
    if not pg_try_advisory_xact_lock(x.lock) then
      room := null;
      return;
    end if;
    if x.most is not null then
      room := least(room, (x.most - case x.of
        when 'queue' then (select coalesce(sum(cardinality(c.jobs)), 0) from claim c join lane l on l.key = c.lane
          where l.queue_id = x.id)
        when 'type' then (select coalesce(sum(cardinality(c.jobs)), 0) from claim c join lane l on l.key = c.lane
          where l.type = x.name)
        else (select coalesce(sum(cardinality(c.jobs) * (l.resources ->> x.name)::int), 0) from claim c
          join lane l on l.key = c.lane where l.resources ? x.name) end) / x.units);
    end if;
    if x.rate is not null and room > 0 then
      v_level := bucket_level(x.lock, x.rate);
      if v_level < room * x.units then
        room := floor(v_level / x.units);
        wait := greatest(wait, ((room + 1) * x.units - v_level) / (x.rate ->> 'perSecond')::float8);
      end if;
    end if;
    if room > 0 and x.of = 'breaker' then
      -- Its state again, and the probe, by one snapshot: a report that ends the one changes the other.
      room := (select case when e.open_until is null then room when e.open_until > clock_now() then 0
        else least(room, 1 - (
                 select count(*) from claim c join lane l on l.key = c.lane
                   where l.queue_id = x.id and l.type = x.name and c.started_at >= e.open_until)) end
                 from breaker_state(x.id, x.name) e);
    end if;
    if room > 0 and x.serial is not null and lane_waits(p_lane, x.id, x.serial) then
      room := 0;
    end if;
  end loop;
  room := greatest(room, 0);
end $$;

-- lane_limits: what limits a lane: maxRunning and rate of its queue, of its type, and of each resource its jobs need; a
-- breaker that lets one job at a time through; as [{"of", "name" or "id", "lock", "units", "most", "rate", "serial"}].
-- Reads: resource.
create or replace function lane_limits(p_queue_id int, p_queue jsonb, p_type text, p_type_options jsonb,
  p_resources jsonb, p_half_open boolean) returns jsonb
language sql stable as $$
  select jsonb_agg(jsonb_strip_nulls(to_jsonb(x)) order by x.lock) from (
    select 'queue' as "of", p_queue_id as id, null as name, queue_limit(p_queue_id) as lock, 1 as units,
      p_queue -> 'maxRunning' as most, p_queue -> 'rate' as rate,
           case when p_queue ->> 'maxRunning' = '1' then coalesce(p_queue -> 'ordered', 'false')
             <> 'false' end as serial
     where p_queue ?| '{maxRunning,rate}'
    union all
    select 'type', null, p_type, type_limit(p_type), 1, p_type_options -> 'maxRunning', p_type_options -> 'rate', null
     where p_type_options ?| '{maxRunning,rate}'
    union all
    select 'resource', null, r.name, resource_limit(r.name), (n.units)::int, r.options -> 'maxRunning',
      r.options -> 'rate', null
      from jsonb_each_text(p_resources) n (name, units) join resource r on r.name = n.name
    union all
    select 'breaker', p_queue_id, p_type, type_limit(p_type), 1, null, null, null where p_half_open) x
$$;

-- chain_first: of the jobs of a track that came back, or came due, and are taken by their ids, the first.
create or replace function chain_first(p_track bigint) returns agenda
language plpgsql as $$
begin
  return (select a from agenda a where a.track = p_track and a.chain is not null and a.due_at <= clock_now()
    and not agenda_dropped(a) order by a.job_id limit 1);
end $$;

-- lane_waits: whether, in a queue that runs one job at a time, another lane has the job that is next: one whose attempt
-- was interrupted, or else by priority and age; or, where the queue is ordered, a job that was begun waits for its next
-- attempt. With groups their turns decide. The caller has the queue's limit.
create or replace function lane_waits(p_lane bigint, p_queue_id int, p_ordered boolean) returns boolean
language plpgsql as $$
declare
  v_lanes constant bigint[] := array(select key from lane
    where queue_id = p_queue_id and not grouped and rest_xid is null);
begin
  if p_ordered and (exists (select from agenda a where a.track = any (v_lanes) and a.chain is not null
    and a.due_at > clock_now() and not agenda_dropped(a))
    or exists (select from postponed o where o.lane = any (v_lanes))
    or exists (select from spare o where o.lane = any (v_lanes))) then
    return true;
  end if;
  return cardinality(v_lanes) > 1 and p_lane = any (v_lanes) and p_lane <> (
    select l.key from lane l cross join lateral (select least((lane_next(l.key, 1, 0, 0))[1],
      (chain_first(l.key)).job_id) as job) n
     where l.key = any (v_lanes) and n.job is not null
     order by exists (select from attempt a where a.slot = job_slot(n.job) and a.job_id = n.job) desc, l.priority, n.job
       limit 1);
end $$;
