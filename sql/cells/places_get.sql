-- places_get: where this cell has placed queues that are not in it. Another one has to know when this one is removed.
create or replace function places_get() returns table (queue text, cell text)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query select p.queue, p.cell from cell_place p where p.cell is not null order by p.queue;
end $$;
