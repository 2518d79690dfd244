-- sqs_queue_delete: SQS clients no longer see this queue, and no dead letters go there: messages stay where they are.
-- The caller drops what is in it. The queue beneath keeps its options; what they were is noted (left), so that a change
-- made meanwhile is not overwritten when the name is given out again. False when there is no such queue.
-- Writes: sqs_queue, queue.
create or replace function sqs_queue_delete(p_name text) returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update sqs_queue s set deleted_at = clock_now(),
         attributes = s.attributes || jsonb_build_object('left', sqs_options_of(q.options))
    from queue q where s.name = p_name and s.deleted_at is null and q.id = s.queue_id;
  if not found then
    return false;
  end if;
  perform sqs_sources_link(p_name, null);
  return true;
end $$;

-- sqs_messages_drop: drop all waiting messages of a queue; jobs of other types stay. Locks and writes as lanes_purge,
-- and lane_discover.
create or replace function sqs_messages_drop(p_queue_id int) returns void
language plpgsql as $$
begin
  perform lane_discover(array[p_queue_id]);
  perform lanes_purge(array(select key from lane where queue_id = p_queue_id and type = 'message' order by key));
end $$;
