-- counts_audit: lanes whose counts are not what the logs say; nothing when all is well. Reads all that waits, at most
-- p_most jobs of a lane; lanes with more are left out.
create or replace function counts_audit(p_queue text default null, p_most int default 100000)
returns table (queue text, type text, priority smallint, counted_ready bigint, ready bigint, counted_delayed bigint,
  delayed bigint, counted_staged bigint, staged bigint)
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return query
  select q.name, l.type, l.priority, t.counted_ready, t.ready, t.counted_delayed, t.delayed, t.counted_staged, t.staged
    from lane_known l join queue q on q.id = l.queue_id cross join lateral lane_truth(l.key, p_most) t
   where (p_queue is null or q.name = p_queue) and t.is_known
     and (t.counted_ready, t.counted_delayed, t.counted_staged) is distinct from (t.ready, t.delayed, t.staged)
   order by 1, 2, 3;
end $$;
