-- sqs_queue_get: a queue as SQS clients see it; null when there is none. Reads: sqs_queue.
create or replace function sqs_queue_get(p_name text) returns json
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select json_build_object('name', s.name, 'queue', q.name, 'attributes', s.attributes, 'tags', s.tags,
                 'createdAt', s.created_at, 'changedAt', s.changed_at)
            from sqs_queue s join queue q on q.id = s.queue_id where s.name = p_name and s.deleted_at is null);
end $$;
