-- job_failures: failed jobs that wait for a decision, those with alike errors together (error_fingerprint), the most
-- frequent first. Of the newest 10,000 of them, by the time they were enqueued, that match every filter; p_since and
-- p_until are about the time they failed. Reads the index of attempts that did not succeed, and one job each. Raises:
-- MR001, MR003.
create or replace function job_failures(p_queue text default null, p_type text default null,
  p_since timestamptz default null, p_until timestamptz default null, p_limit int default 100)
returns table (fingerprint text, name text, code text, message text, jobs int, first_at timestamptz,
  last_at timestamptz, types text[], queues text[], last_job_id bigint)
language plpgsql security definer set search_path from current set jit = off
set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  return query
  with newest as materialized (
    select f.* from job_failure f
     where (v_queue_id is null or f.queue_id = v_queue_id) and (p_type is null or f.type = p_type)
       and (p_since is null or f.finished_at >= p_since) and (p_until is null or f.finished_at < p_until)
     order by f.job_id desc limit 10000
  ), grouped as (
    select error_fingerprint(n.error) as fingerprint, count(*)::int as jobs, min(n.finished_at) as first_at,
           max(n.finished_at) as last_at,
           array_agg(distinct n.type) as types, array_agg(distinct n.queue_id) as queue_ids,
           max(n.job_id) as last_job_id, (array_agg(n.error order by n.job_id desc))[1] as error
      from newest n group by 1 order by 2 desc, 4 desc limit p_limit
  )
  select g.fingerprint, error_member(g.error, 'name'), error_member(g.error, 'code'), error_message(g.error), g.jobs,
         g.first_at, g.last_at, g.types,
         array(select q.name from queue q where q.id = any (g.queue_ids) order by q.name), g.last_job_id
    from grouped g order by g.jobs desc, g.last_at desc;
end $$;
