-- sqs_queue_purge: a step of emptying a queue; a caller who fails in between may begin again. 'may': whether it may be
-- emptied, which is once in p_wait_seconds. 'drop': drop what waits; what is in flight is for the caller. 'done': it
-- was emptied now, unless somebody else was faster; which messages it has seen is forgotten. False when it may not be
-- emptied.
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
   where name = p_name
     and deleted_at is null
     and (purged_at is null or purged_at <= clock_now() - make_interval(secs => p_wait_seconds));
  if not found then
    return false;
  end if;
  if p_step = 'done' then
    update sqs_queue set purged_at = clock_now() where name = p_name;
    perform sqs_seen_forget(v_id);
  end if;
  return true;
end $$;

-- sqs_seen_forget: no message of a queue is a duplicate of one before; what is known of jobs of other types stays.
-- Locks: fingerprint rows. Writes: fingerprint.
create or replace function sqs_seen_forget(p_queue_id int) returns void
language plpgsql as $$
begin
  delete from fingerprint f using (
    select k.queue_id, k.fingerprint from fingerprint k
     where k.queue_id = p_queue_id
       and not exists (select from job j where j.slot = job_slot(k.job_id) and j.id = k.job_id and j.type <> 'message')
     order by k.fingerprint for update) x
   where f.queue_id = x.queue_id and f.fingerprint = x.fingerprint;
end $$;
