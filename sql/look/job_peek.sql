-- job_peek: the jobs a claim would look at next, without touching anything. Raises: MR001, MR003.
create or replace function job_peek(p_queue text default 'default', p_limit int default 10) returns setof jobs
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set enable_bitmapscan = off as $$
declare
  l record;
  v_ids bigint[] := '{}';
  v_aside bigint[] := '{}';
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform raise_error('MR001', format('a peek shows 1 to 1000 jobs, not %s', p_limit), null);
  end if;
  perform lane_discover(array[queue_id(p_queue)]);
  for l in
    select k.key from lane k
     where k.queue_id = queue_id(p_queue)
     order by k.priority, lane_oldest(k.key, 1000, true, true) nulls last
  loop
    v_ids := v_ids || lane_next(l.key, p_limit, p_limit, p_limit);
    v_aside := v_aside || aside_next(l.key, p_limit);
    exit when cardinality(v_ids) >= p_limit;
  end loop;
  return query
  -- one by one, whatever the planner thinks
  select v.* from unnest(v_ids || v_aside) with ordinality u (id, i)
    cross join lateral (select * from jobs x where x.id = u.id offset 0) v
   where counts_as_ready(v.state) order by u.i limit p_limit;
end $$;
