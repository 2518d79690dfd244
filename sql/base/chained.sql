-- chained: whether jobs that come back, or come due, are taken by their ids, because they have an order: those of a
-- group where groups are ordered, and those without one where the queue runs one job at a time. They wait in the agenda
-- until they are taken (agenda.chain). A track could not do that: its order is that of coming back.
create or replace function chained(p_queue jsonb, p_grouped boolean) returns boolean
language sql immutable parallel safe as $$
  select case when p_grouped then coalesce(p_queue -> 'ordered', 'false') <> 'false'
              else coalesce(p_queue ->> 'maxRunning' = '1', false) end
$$;
