-- cell_groups: who has how much in all queues together: how much of each group waits, ready and blocked apart, is
-- delayed and runs, for how long the oldest of it could have run, and in which queues that is; the one with the most
-- waiting first. Jobs without a group are left out. Exact up to 10,000 jobs that wait or are delayed. Beyond that one
-- sample of all queues, 5000 jobs of tickets and 5000 of the agenda, by chance, tells shares, ages and queues; one with
-- little may be missing. So the cost depends neither on the backlog nor on the number of queues and groups. Raises:
-- MR001.
create or replace function cell_groups(p_limit int default 100)
returns table ("group" text, queues text[], waiting bigint, ready bigint, blocked bigint, delayed bigint,
  running bigint, oldest_age_seconds float8, estimated boolean)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_lanes constant bigint[] := array(select l.key from lane_known l);
  v_held constant int[] := array(select q.id from queue q where queue_held(q.id));
  v_waiting bigint; v_delayed bigint; v_sample int;
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  select coalesce(sum(d.ready), 0), coalesce(sum(d.delayed), 0) into v_waiting, v_delayed
    from (select x.ready, x.delayed from lane_depth x
          union all
          select y.ready, y.delayed from tally y) d;
  if v_waiting + v_delayed > 10000 then
    v_sample := 5000;
  end if;
  return query
  with part as (
    select x.queue_id, x.type, x.group_key, coalesce(sum(x.jobs) filter (where x.state = 'waiting'), 0) as waiting,
           count(*) filter (where x.state = 'delayed') as delayed,
           count(*) filter (where x.state = 'running') as running,
           min(x.since) filter (where x.state = 'waiting') as oldest
      from jobs_live(v_lanes, v_sample) x group by 1, 2, 3
  ), counted as (
    select p.group_key, array_agg(distinct p.queue_id) as queue_ids, sum(p.waiting) as waiting,
           sum(p.delayed) as delayed, sum(p.running)::bigint as running, min(p.oldest) as oldest,
           coalesce(sum(p.waiting) filter (where p.queue_id = any (v_held) or b.type is not null
                                              or z.group_key is not null or zt.group_key is not null), 0) as blocked
      from part p
      left join (select distinct n.queue_id, n.type from type_blocked n where n.until > clock_now()) b
        on b.queue_id = p.queue_id and b.type = p.type
      left join (select distinct n.queue_id, n.group_key from pause n
                  where n.group_key is not null and n.type is null) z
        on z.queue_id = p.queue_id and z.group_key = p.group_key
      left join (select distinct n.queue_id, n.group_key, n.type from pause n
                  where n.group_key is not null and n.type is not null) zt
        on zt.queue_id = p.queue_id and zt.group_key = p.group_key and zt.type = p.type
     group by 1
  ), scaled as (
    select c.group_key, c.queue_ids, c.running, c.oldest, c.blocked / nullif(c.waiting, 0) as blocked_share,
           case when v_sample is null then c.waiting
                else coalesce(c.waiting * v_waiting / nullif(sum(c.waiting) over (), 0), 0) end as waiting,
           case when v_sample is null then c.delayed
                else coalesce(c.delayed * v_delayed / nullif(sum(c.delayed) over (), 0), 0) end as delayed
      from counted c
  )
  select s.group_key, array(select q.name from queue q where q.id = any (s.queue_ids) order by q.name),
         round(s.waiting)::bigint, round(s.waiting)::bigint - b.jobs, b.jobs, round(s.delayed)::bigint, s.running,
         age_seconds(clock_now(), s.oldest), v_sample is not null
    from scaled s
    cross join lateral (select round(coalesce(s.waiting * s.blocked_share, 0))::bigint as jobs) b
   where s.group_key is not null
   order by s.waiting desc, s.delayed desc, s.running desc, s.group_key limit p_limit;
end $$;
