-- queue_home: the cell in which a queue is, as far as this cell knows: its own name where the queue is here, the cell
-- it has moved to, the one that it is to move here from and has not left yet, where the route says, which is newer than
-- where it placed the queue, or that; null when it knows of none. A queue that is spread by tenant is in each cell:
-- '*'.
create or replace function queue_home(p_queue text) returns text
language sql stable security definer set search_path from current set jit = off as $$
  select coalesce(
    (select case when q.options ? 'spread' then '*' else coalesce(m.cell, s.name) end
       from queue q cross join cell_self s
       left join queue_move m on m.queue_id = q.id and (m.is_leaving or q.closed_at is not null)
      where q.name = p_queue),
    (select r.cell from route r where r.key = p_queue),
    (select coalesce(p.cell, s.name) from cell_place p cross join cell_self s where p.queue = p_queue))
$$;
