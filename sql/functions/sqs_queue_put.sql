-- sqs_queue_create: make a queue for SQS clients, and the queue beneath it. p_options: all options that SQS decides on, null where it says nothing.
-- A queue beneath that SQS did not make, or whose options were changed since SQS deleted it, is adopted: it keeps its options, and they hold for its messages too. p_adopts: whether
-- that would do for the caller. Only ordered batches are FIFO.
-- Returns 'created', 'exists', 'deleted' when one of that name was deleted less than p_wait_seconds ago, or 'foreign' when it cannot be adopted; nothing was changed but by the first.
-- Locks: sqs_queue, so that creations follow each other; as lanes_purge when it was deleted. Writes: sqs_queue, queue. Raises: MR001, MR003.
create or replace function sqs_queue_create(
  p_name text, p_queue text, p_attributes jsonb, p_tags jsonb, p_options jsonb, p_wait_seconds float8, p_adopts boolean) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  q sqs_queue;
  v_now timestamptz := clock_now();
  v_beneath jsonb;
begin
  lock table sqs_queue in share row exclusive mode;
  perform sqs_target_check(p_attributes);
  select * into q from sqs_queue where name = p_name;
  if q.name is not null and q.deleted_at is null then
    return 'exists';
  elsif q.deleted_at > v_now - make_interval(secs => p_wait_seconds) then
    return 'deleted';
  end if;
  select options into v_beneath from queue where name = p_queue;
  if v_beneath is not null and (q.name is null or q.attributes ? 'adopted' or q.attributes -> 'left' <> sqs_options_of(v_beneath)) then
    if not p_adopts or coalesce(v_beneath ->> 'ordered' = 'batches', false) <> (p_name like '%.fifo') then
      return 'foreign';
    end if;
    p_attributes := p_attributes || '{"adopted": "true"}';
  else
    if q.name is not null then
      perform sqs_messages_drop(q.queue_id), sqs_seen_forget(q.queue_id);  -- what was sent by somebody who had not seen the deletion
    end if;
    perform queue_put(p_queue, p_options);
  end if;
  insert into sqs_queue (name, queue_id, attributes, tags, created_at, changed_at) values (p_name, queue_id(p_queue), p_attributes, p_tags, v_now, v_now)
  on conflict (name) do update set attributes = p_attributes, tags = p_tags, created_at = v_now, changed_at = v_now, purged_at = null, deleted_at = null;
  perform sqs_sources_link(p_name, p_queue);
  return 'created';
end $$;

-- sqs_options_of: those options of a queue that SQS decides on, where it made the queue.
create or replace function sqs_options_of(p_options jsonb) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(p_options)
   where key = any ('{maxAttempts,lostAlone,ordered,leaseSeconds,ttlSeconds,deadLetterQueue,deadLetterAfter}'::text[])
$$;

-- sqs_messages_drop: drop all waiting messages of a queue; jobs of other types stay. Locks and writes as lanes_purge, and lane_discover.
create or replace function sqs_messages_drop(p_queue_id int) returns void
language plpgsql as $$
begin
  perform lane_discover(array[p_queue_id]);
  perform lanes_purge(array(select key from lane where queue_id = p_queue_id and type = 'message' order by key));
end $$;

-- sqs_queue_change: set attributes and tags (null removes one), and the options that follow from them. False when there is no such queue. Writes: sqs_queue, queue. Raises: MR001, MR003.
create or replace function sqs_queue_change(p_name text, p_attributes jsonb default '{}', p_tags jsonb default '{}', p_options jsonb default '{}') returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue text;
begin
  perform sqs_target_check(p_attributes);
  update sqs_queue s set attributes = jsonb_strip_nulls(s.attributes || p_attributes), tags = jsonb_strip_nulls(s.tags || p_tags),
         changed_at = case when p_attributes <> '{}' then clock_now() else s.changed_at end
    from queue q where s.name = p_name and s.deleted_at is null and q.id = s.queue_id returning q.name into v_queue;
  if not found then
    return false;
  end if;
  if p_options <> '{}' then
    perform queue_put(v_queue, p_options);
  end if;
  return true;
end $$;

-- sqs_queue_delete: SQS clients no longer see this queue, and no dead letters go there: messages stay where they are. What is in it is dropped by whoever calls this.
-- The queue beneath keeps its options; what they were is noted (left), so that a change made meanwhile is not overwritten when the name is given out again.
-- False when there is no such queue. Writes: sqs_queue, queue.
create or replace function sqs_queue_delete(p_name text) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update sqs_queue s set deleted_at = clock_now(), attributes = s.attributes || jsonb_build_object('left', sqs_options_of(q.options))
    from queue q where s.name = p_name and s.deleted_at is null and q.id = s.queue_id;
  if not found then
    return false;
  end if;
  perform sqs_sources_link(p_name, null);
  return true;
end $$;

-- sqs_target_check: where dead letters are to go must be there, and stay until this transaction ends. Locks: the target's row. Raises: MR003.
create or replace function sqs_target_check(p_attributes jsonb) returns void
language plpgsql as $$
begin
  if p_attributes ->> 'deadLetterTarget' is not null then
    perform from sqs_queue where name = p_attributes ->> 'deadLetterTarget' and deleted_at is null for share;
    if not found then
      perform raise_error('MR003', format('there is no queue "%s"', p_attributes ->> 'deadLetterTarget'), 'create it first');
    end if;
  end if;
end $$;

-- sqs_sources_link: let the queues that name a target send their dead letters there (p_queue: what it is called here), or nowhere. Writes: queue.
create or replace function sqs_sources_link(p_target text, p_queue text) returns void
language plpgsql as $$
begin
  perform queue_put(q.name, jsonb_build_object('deadLetterQueue', p_queue,
            'deadLetterAfter', case when p_queue is not null then ((s.attributes ->> 'RedrivePolicy')::jsonb ->> 'maxReceiveCount')::numeric::int end))
     from sqs_queue s join queue q on q.id = s.queue_id where s.attributes ->> 'deadLetterTarget' = p_target and s.deleted_at is null order by q.id;
end $$;

-- sqs_queue_purge: a step of emptying a queue, so that whoever fails in between may begin again. 'may': whether it may be emptied, which is once in p_wait_seconds. 'drop': drop what
-- waits; what is in flight is for the caller. 'done': it was emptied now, unless somebody else was faster; which messages it has seen is forgotten. False when it may not.
-- Locks: as lanes_purge; fingerprint rows. Writes: as lanes_purge; sqs_queue, fingerprint.
create or replace function sqs_queue_purge(p_name text, p_wait_seconds float8, p_step text) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id int;
begin
  if p_step = 'drop' then
    perform sqs_messages_drop(queue_id) from sqs_queue where name = p_name;
    return found;
  end if;
  select queue_id into v_id from sqs_queue
   where name = p_name and deleted_at is null and (purged_at is null or purged_at <= clock_now() - make_interval(secs => p_wait_seconds));
  if not found then
    return false;
  end if;
  if p_step = 'done' then
    update sqs_queue set purged_at = clock_now() where name = p_name;
    perform sqs_seen_forget(v_id);
  end if;
  return true;
end $$;

-- sqs_seen_forget: no message of a queue is a duplicate of one before; what is known of jobs of other types stays. Locks: fingerprint rows. Writes: fingerprint.
create or replace function sqs_seen_forget(p_queue_id int) returns void
language plpgsql as $$
begin
  delete from fingerprint f using (
    select k.queue_id, k.fingerprint from fingerprint k
     where k.queue_id = p_queue_id and not exists (select from job j where j.slot = job_slot(k.job_id) and j.id = k.job_id and j.type <> 'message') order by k.fingerprint for update) x
   where f.queue_id = x.queue_id and f.fingerprint = x.fingerprint;
end $$;
