-- sqs_queue_create: make a queue for SQS clients, and the queue beneath it, or take that over when there is one. p_options: all options that SQS decides on, null where it says nothing.
-- Returns 'created', 'exists' (nothing was changed), or 'deleted' when one of that name was deleted less than p_wait_seconds ago.
-- Locks: sqs_queue, so that creations follow each other; as queue_purge when it was deleted. Writes: sqs_queue, queue. Raises: MR001, MR003.
create or replace function sqs_queue_create(p_name text, p_queue text, p_attributes jsonb, p_tags jsonb, p_options jsonb, p_wait_seconds float8) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  q sqs_queue;
  v_now timestamptz := clock_now();
begin
  lock table sqs_queue in share row exclusive mode;
  perform sqs_target_check(p_attributes);
  select * into q from sqs_queue where name = p_name;
  if q.name is not null and q.deleted_at is null then
    return 'exists';
  elsif q.deleted_at > v_now - make_interval(secs => p_wait_seconds) then
    return 'deleted';
  end if;
  if q.name is not null then
    perform queue_purge(p_queue), sqs_seen_forget(q.queue_id);  -- what was sent by somebody who had not seen the deletion
  end if;
  perform queue_put(p_queue, p_options);
  insert into sqs_queue (name, queue_id, attributes, tags, created_at, changed_at) values (p_name, queue_id(p_queue), p_attributes, p_tags, v_now, v_now)
  on conflict (name) do update set attributes = p_attributes, tags = p_tags, created_at = v_now, changed_at = v_now, purged_at = null, deleted_at = null;
  perform sqs_sources_link(p_name, p_queue);
  return 'created';
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
-- False when there is no such queue. Writes: sqs_queue, queue.
create or replace function sqs_queue_delete(p_name text) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update sqs_queue set deleted_at = clock_now() where name = p_name and deleted_at is null;
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

-- sqs_queue_purge: a queue may be emptied once in p_wait_seconds. False when it is too soon. Once it is empty (p_is_done), that is noted, and which messages it has seen is forgotten:
-- whoever fails in between may begin again. Locks: fingerprint rows. Writes: sqs_queue, fingerprint.
create or replace function sqs_queue_purge(p_name text, p_wait_seconds float8, p_is_done boolean) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id int;
begin
  select queue_id into v_id from sqs_queue
   where name = p_name and deleted_at is null and (purged_at is null or purged_at <= clock_now() - make_interval(secs => p_wait_seconds));
  if not found then
    return false;
  end if;
  if p_is_done then
    update sqs_queue set purged_at = clock_now() where name = p_name;
    perform sqs_seen_forget(v_id);
  end if;
  return true;
end $$;

-- sqs_seen_forget: no message of a queue is a duplicate of one before. Locks: fingerprint rows. Writes: fingerprint.
create or replace function sqs_seen_forget(p_queue_id int) returns void
language plpgsql as $$
begin
  delete from fingerprint f using (select queue_id, fingerprint from fingerprint where queue_id = p_queue_id order by fingerprint for update) x
   where f.queue_id = x.queue_id and f.fingerprint = x.fingerprint;
end $$;
