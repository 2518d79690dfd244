-- queue_waits: of the queues that a queue names in waitsFor, those that have not finished; null when there is none.
-- That a queue waits is derived from it each time, so that nobody has to release it. It runs with its owner's rights,
-- because views call it with those of their reader. Each name is one probe of an index.
create or replace function queue_waits(p_queue_id int) returns text[]
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select array_agg(n.name order by n.name)
            from jsonb_array_elements_text(
                   (select q.options -> 'waitsFor' from queue q where q.id = p_queue_id)) n (name)
           where (select w.finished_at is null from queue w where w.name = n.name));
end $$;
