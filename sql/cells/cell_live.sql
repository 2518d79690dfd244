-- cell_live: what keeps a cell from being removed: its queues that have not finished, with the jobs that are live in
-- them; and, among those, whether one has moved away already and only has to drain. No row: nothing will ever come to
-- life here again (../queue/README.md, "Closing and finishing").
create or replace function cell_live() returns table (queue text, jobs bigint, moved_to text)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query
  select q.name, (q.waiting + q.delayed + q.running)::bigint, q.moved_to from queues q
   where q.finished_at is null order by q.name;
end $$;
