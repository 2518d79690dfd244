-- types_unhandled: types of which something is ready, and that no worker takes: none that is known, and nobody holds
-- any. Who claims by SQL, HTTP or SQS is not known (worker_process), so only what has waited for p_min_age_seconds is
-- told, or has no age because no claim and no upkeep has met it; and no queues of SQS. What is blocked is not ready,
-- and not counted. At most a thousand.
create or replace function types_unhandled(p_min_age_seconds float8 default 60)
returns table (queue text, type text, waiting bigint, oldest_ready_at timestamptz, oldest_age_seconds float8)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
begin
  return query
  with waits as (
    select l.queue_id, l.type, sum(d.ready)::bigint as waiting, array_agg(l.key) as keys, min(l.created_at) as since
      from (select n.lane, sum(n.ready) as ready
              from (select t.lane, t.ready from lane_depth t where t.ready <> 0
                    union all
                    select t.lane, t.ready from tally t) n
             group by n.lane having sum(n.ready) > 0) d
      join lane_known l on l.key = d.lane
     group by l.queue_id, l.type),
  handled as (select * from types_handled() where not is_held)
  select x.name, x.type, x.waiting - b.jobs, o.since, age_seconds(v_now, o.since)
    from (select q.id, q.name, w.type, w.waiting, w.keys, w.since
            from waits w
            join queue q on q.id = w.queue_id and q.paused_at is null
           where not exists (select from handled h where h.queue = q.name and (h.type = w.type or h.type is null))
             and not exists (select from claim c where c.lane = any (w.keys))
             and not exists (select from pause z where z.queue_id = q.id and (z.job_id is not null
                                                     or z.type = w.type and z.group_key is null))
             and not exists (select from sqs_queue s where s.queue_id = q.id)
             and queue_waits(q.id) is null
           limit 1000) x
    cross join lateral (
      select case when exists (select from pause z where z.queue_id = x.id)
                    or exists (select from breaker_event e
                                where e.queue_id = x.id and e.type = x.type and e.kind = 'opened')
                    then jobs_blocked(x.id, x.type) else 0 end as jobs offset 0) b
    cross join lateral (
      select coalesce((select min(job_created_at(lane_oldest(k))) from unnest(x.keys) k), x.since) as since
       where x.waiting > b.jobs offset 0) o
   where o.since is null or o.since <= v_now - seconds(p_min_age_seconds)
   order by x.waiting - b.jobs desc, x.name, x.type;
end $$;

-- types_handled: what workers that are known take: types of queues; type is null for all of a queue. Those that
-- somebody has paused or drained from afar take nothing: they are told apart.
create or replace function types_handled(out queue text, out type text, out is_held boolean) returns setof record
language plpgsql as $$
begin
  return query
  select q.name, case when jsonb_typeof(w -> 'types') = 'array' then t.name end, w ? 'held'
    from worker_process p
   cross join lateral jsonb_array_elements(p.facts -> 'workers') w
   cross join lateral jsonb_array_elements_text(w -> 'queues') q (name)
    left join lateral jsonb_array_elements_text(
      case when jsonb_typeof(w -> 'types') = 'array' then w -> 'types' end) t (name) on true
   where p.expected_at > clock_now();
end $$;
