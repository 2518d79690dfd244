-- moves_get: the queues that move, or have moved out of this cell. drained_at: when the last job of one that leaves had
-- ended here; drained_seconds: how long ago that is. live: how many jobs it has here; failed: a job that holds it up,
-- because its failure paused the queue.
create or replace function moves_get()
  returns table (queue text, cell text, direction text, version bigint, held boolean, began_at timestamptz, by text,
    drained_at timestamptz, drained_seconds float8, live bigint)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query
  select q.name, m.cell, case when m.is_leaving then 'leaving' else 'arriving' end, m.version,
         exists (select from pause z where z.queue_id = q.id and z.job_id = 0), m.began_at, m.began_by,
         q.finished_at, date_part('epoch', clock_now() - q.finished_at),
         (select (v.waiting + v.delayed + v.running)::bigint from queues v where v.name = q.name)
    from queue_move m join queue q on q.id = m.queue_id order by q.name;
end $$;
