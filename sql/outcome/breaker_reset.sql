-- breaker_reset: close breakers by hand and forget the failures they have counted: all of them, or those of a queue, of
-- a type, or of both. Returns how many. Writes: breaker_event. Raises: MR003.
create or replace function breaker_reset(p_queue text default null, p_type text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_count int := 0;
  b record;
begin
  for b in
    select distinct on (n.queue_id, n.type) n.queue_id, n.type, n.kind from breaker_event n
     where (v_queue_id is null or n.queue_id = v_queue_id) and (p_type is null or n.type = p_type)
     order by n.queue_id, n.type, n.id desc
  loop
    continue when b.kind = 'closed';
    perform breaker_close(b.queue_id, b.type, (breaker_state(b.queue_id, b.type)).open_until is not null);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
