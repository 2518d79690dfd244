-- breakers_tidy: remove events that say nothing any more. Any process may call it. Locks: event rows, skipped when
-- taken. Writes: breaker_event.
create or replace function breakers_tidy() returns void
language plpgsql as $$
begin
  delete from breaker_event where id = any (array(
    select b.id from breaker_event b
     where b.id < (breaker_state(b.queue_id, b.type)).id or b.kind = 'failed' and b.at < clock_now() - interval '1 day'
     order by b.id limit 10000 for update skip locked));
end $$;
