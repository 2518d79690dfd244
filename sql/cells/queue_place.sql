-- queue_place: say where a new queue is to be: in p_cell, or by default here. It is for the cell that the list
-- gives the queue to (p_version of it) to say so, and for whoever comes first: the answer is where the queue is. A
-- list that has changed meanwhile gives it perhaps to another cell: then nothing is placed, and null returned.
-- Locks: cell_list, shared. Writes: cell_place.
create or replace function queue_place(p_queue text, p_version int, p_cell text default null) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_self text;
begin
  perform isolation_check('the placing of a queue');
  perform pg_advisory_xact_lock_shared(cell_list());
  if queue_home(p_queue) is not null then
    return queue_home(p_queue);
  elsif (select max(version) from cell_member) > p_version then
    return null;
  end if;
  select name into v_self from cell_self;
  insert into cell_place (queue, cell) values (p_queue, nullif(p_cell, v_self)) on conflict do nothing;
  return queue_home(p_queue);
end $$;
