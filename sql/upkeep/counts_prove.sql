-- counts_prove: the part of upkeep that proves counts, where at most a thousand jobs wait: of a lane by chance, one
-- time in five, and always of a lane of a closed queue that has not finished, because a wrong count must not keep it
-- from finishing. The caller has books_lock.
create or replace function counts_prove() returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_from constant bigint := hashint8extended((random() * 1e15)::bigint, 0);
  v_lane bigint;
begin
  -- one of some neighbours, so that none is left out because its key follows closely on another's
  if random() < 0.2 then
    select x.key into v_lane
      from ((select l.key from lane l where l.key >= v_from order by l.key limit 20)
            union all
            (select l.key from lane l where l.key < v_from order by l.key desc limit 20)) x
     order by random() limit 1;
    perform lane_recount(v_lane, 1000);
  end if;
  select l.key into v_lane
    from queue q
    join lane l on l.queue_id = q.id
   where q.closed_at is not null and q.finished_at is null
   order by random() limit 1;
  if found then
    perform lane_recount(v_lane, 1000);
  end if;
end $$;

-- lane_recount: correct the counts of a lane where they are not what the logs say, on record. It adds a difference, as
-- everybody does who changes them meanwhile. False when they were right, or more than p_most wait. The caller has
-- books_lock.
-- Writes: tally, queue_event.
create or replace function lane_recount(p_lane bigint, p_most int) returns boolean
language plpgsql as $$
declare
  t record;
begin
  with truth as materialized (
    select x.* from lane_truth(p_lane, p_most) x
     where x.is_known
       and (x.counted_ready, x.counted_delayed, x.counted_staged) is distinct from (x.ready, x.delayed, x.staged)
  ), put_right as (
    insert into tally (lane, ready, delayed, staged)
    select p_lane, x.ready - x.counted_ready, x.delayed - x.counted_delayed, x.staged - x.counted_staged
      from truth x)
  select * into t from truth;
  if not found then
    return false;
  end if;
  perform queue_event_add(q.name, 'recounted', 'millrace',
    format('type %s, priority %s: ready %s, not %s; delayed %s, not %s; staged %s, not %s',
      l.type, l.priority, t.ready, t.counted_ready, t.delayed, t.counted_delayed, t.staged, t.counted_staged), l.type)
    from lane_known l join queue q on q.id = l.queue_id where l.key = p_lane;
  return true;
end $$;
