-- sqs_queue_create: make a queue for SQS clients, and the queue beneath it. p_options: all options that SQS decides on,
-- null where it says nothing. A queue beneath that SQS did not make, or whose options were changed since SQS deleted
-- it, is adopted: it keeps its options, and they hold for its messages too. p_adopts: whether that would do for the
-- caller. Only ordered batches are FIFO. Returns 'created', 'exists', 'deleted' when one of that name was deleted less
-- than p_wait_seconds ago, or 'foreign' when it cannot be adopted; nothing was changed but by the first.
-- Locks: sqs_queue, so that creations follow each other; as lanes_purge when it was deleted. Writes: sqs_queue, queue.
-- Raises: MR001, MR003.
create or replace function sqs_queue_create(p_name text, p_queue text, p_attributes jsonb, p_tags jsonb,
  p_options jsonb, p_wait_seconds float8, p_adopts boolean) returns text
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
  if v_beneath is not null
    and (q.name is null or q.attributes ? 'adopted' or q.attributes -> 'left' <> sqs_options_of(v_beneath)) then
    if not p_adopts or coalesce(v_beneath ->> 'ordered' = 'batches', false) <> (p_name like '%.fifo') then
      return 'foreign';
    end if;
    p_attributes := p_attributes || '{"adopted": "true"}';
  else
    if q.name is not null then
      -- what was sent by somebody who had not seen the deletion
      perform sqs_messages_drop(q.queue_id), sqs_seen_forget(q.queue_id);
    end if;
    perform queue_put(p_queue, p_options);
  end if;
  insert into sqs_queue (name, queue_id, attributes, tags, created_at, changed_at)
  values (p_name, queue_id(p_queue), p_attributes, p_tags, v_now, v_now)
  on conflict (name) do update
     set attributes = p_attributes, tags = p_tags, created_at = v_now, changed_at = v_now, purged_at = null,
         deleted_at = null;
  perform sqs_sources_link(p_name, p_queue);
  return 'created';
end $$;

-- sqs_options_of: those options of a queue that SQS decides on, where it made the queue.
create or replace function sqs_options_of(p_options jsonb) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(p_options)
   where key = any ('{maxAttempts,lostAlone,ordered,leaseSeconds,ttlSeconds,deadLetterQueue,deadLetterAfter}'::text[])
$$;

-- sqs_target_check: where dead letters are to go must be there, and stay until this transaction ends. Locks: the
-- target's row. Raises: MR003.
create or replace function sqs_target_check(p_attributes jsonb) returns void
language plpgsql as $$
begin
  if p_attributes ->> 'deadLetterTarget' is not null then
    perform from sqs_queue where name = p_attributes ->> 'deadLetterTarget' and deleted_at is null for share;
    if not found then
      perform raise_error('MR003', format('there is no queue "%s"', p_attributes ->> 'deadLetterTarget'),
        'create it first');
    end if;
  end if;
end $$;

-- sqs_sources_link: let the queues that name a target send their dead letters there (p_queue: what it is called here),
-- or nowhere; those that have left this cell too, for what is left of them. Writes: queue.
create or replace function sqs_sources_link(p_target text, p_queue text) returns void
language plpgsql as $$
begin
  perform queue_put_left(q.name, jsonb_build_object(
            'deadLetterQueue', p_queue,
            'deadLetterAfter', case when p_queue is not null
              then ((s.attributes ->> 'RedrivePolicy')::jsonb ->> 'maxReceiveCount')::numeric::int end))
    from sqs_queue s
    join queue q on q.id = s.queue_id
   where s.attributes ->> 'deadLetterTarget' = p_target and s.deleted_at is null
   order by q.id;
end $$;
