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

-- sqs_depth: how many messages are visible, invisible and delayed. A message whose visibility timeout has ended is visible, whether or not its claim was reaped. Raises: MR003.
create or replace function sqs_depth(p_queue text, out visible bigint, out invisible bigint, out delayed bigint)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_ended bigint;
begin
  select d.ready + d.blocked, d.running, d.delayed into visible, invisible, delayed from queue_depth(p_queue) d;
  select coalesce(sum(cardinality(c.jobs)), 0) into v_ended from claim c join lane l on l.key = c.lane where l.queue_id = queue_id(p_queue) and c.until <= clock_now();
  visible := visible + v_ended;
  invisible := greatest(invisible - v_ended, 0);
end $$;

-- sqs_in_flight: the jobs of a queue that are claimed, 100,000 at most. Raises: MR003.
create or replace function sqs_in_flight(p_queue text) returns bigint[]
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return array(select unnest(c.jobs) from claim c join lane l on l.key = c.lane where l.queue_id = queue_id(p_queue) limit 100000);
end $$;

-- sqs_secret_get: what receipt handles are signed with.
create or replace function sqs_secret_get() returns bytea
language plpgsql stable security definer set search_path from current set jit = off as $$ begin return (select secret from sqs_secret); end $$;
