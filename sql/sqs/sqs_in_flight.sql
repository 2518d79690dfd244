-- sqs_in_flight: the messages of a queue that are claimed, 100,000 at most. Raises: MR003.
create or replace function sqs_in_flight(p_queue text) returns bigint[]
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return array(select unnest(c.jobs) from claim c
                 join lane l on l.key = c.lane
                where l.queue_id = queue_id(p_queue) and l.type = 'message' limit 100000);
end $$;
