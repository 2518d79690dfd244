-- sqs_queue_get: a queue as SQS clients see it; null when there is none. Reads: sqs_queue.
create or replace function sqs_queue_get(p_name text) returns json
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select json_build_object('name', s.name, 'queue', q.name, 'attributes', s.attributes, 'tags', s.tags, 'createdAt', s.created_at, 'changedAt', s.changed_at)
            from sqs_queue s join queue q on q.id = s.queue_id where s.name = p_name and s.deleted_at is null);
end $$;

-- sqs_queue_list: names that begin with a prefix, from p_after on; where p_target is given, of the queues whose dead letters go there.
create or replace function sqs_queue_list(p_prefix text, p_after text, p_limit int, p_target text default null) returns json
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select coalesce(json_agg(x.name order by x.name collate "C"), '[]')
            from (select s.name from sqs_queue s
                   where s.deleted_at is null and starts_with(s.name, p_prefix) and s.name collate "C" > p_after and (p_target is null or s.attributes ->> 'deadLetterTarget' = p_target)
                   order by s.name collate "C" limit p_limit) x);
end $$;

-- sqs_depth: how many messages are visible, invisible and delayed; jobs of other types are none. A message whose visibility timeout has ended is visible, whether or not its claim was
-- reaped, and so is one that came due. Costs the same at any backlog, like queue_depth. Raises: MR003.
create or replace function sqs_depth(p_queue text, out visible bigint, out invisible bigint, out delayed bigint)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_lanes constant bigint[] := array(select key from lane_known where queue_id = v_id and type = 'message');
  v_now constant timestamptz := clock_now();
  v_due bigint;
  v_ended bigint;
begin
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0) into visible, delayed
    from (select lane, x.ready, x.delayed from lane_depth x union all select lane, y.ready, y.delayed from tally y) d where d.lane = any (v_lanes);
  select count(*) into v_due from (select * from agenda a where a.due_at <= v_now order by a.due_at limit 10000) g
   where (g.chain = 1) is not true and g.lane = any (v_lanes) and not agenda_dropped((g.*)::agenda);
  select coalesce(sum(cardinality(c.jobs)) filter (where c.until > v_now), 0), coalesce(sum(cardinality(c.jobs)) filter (where c.until <= v_now), 0) into invisible, v_ended
    from claim c where c.lane = any (v_lanes);
  visible := greatest(visible + v_due, 0) + v_ended;
  delayed := greatest(delayed - v_due, 0);
end $$;

-- sqs_in_flight: the messages of a queue that are claimed, 100,000 at most. Raises: MR003.
create or replace function sqs_in_flight(p_queue text) returns bigint[]
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return array(select unnest(c.jobs) from claim c join lane l on l.key = c.lane where l.queue_id = queue_id(p_queue) and l.type = 'message' limit 100000);
end $$;

-- sqs_secret_get: what receipt handles are signed with.
create or replace function sqs_secret_get() returns bytea
language plpgsql stable security definer set search_path from current set jit = off as $$ begin return (select secret from sqs_secret); end $$;
