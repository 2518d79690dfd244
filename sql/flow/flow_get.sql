-- flow_get: a flow as a graph: {"flow", "name", "state", "createdAt", "finishedAt", "total", "jobs": [{"id", "type",
-- "queue", "state", "after": [ids of jobs that it waits for], "when"}], "others": [{"id", "type", "queue", "state",
-- "flow"}]}. At most p_limit jobs, the first ones; "total" says how many there are. "others" are jobs outside of the
-- flow that these wait for, and the flow they are of; one that is gone with its day has neither type nor state. Null
-- when there is no such flow. Raises: MR001.
create or replace function flow_get(p_flow bigint, p_limit int default 1000) returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_jobs bigint[];
  v_some bigint[];
begin
  if p_limit is null or p_limit not between 0 and 10000 then
    perform raise_error('MR001', format('a flow has 0 to 10000 jobs at a time, not %s', p_limit), null);
  end if;
  v_jobs := array(
    select u.id from step s cross join lateral unnest(s.jobs) u (id)
     where s.slot = job_slot(p_flow) and s.job_id = p_flow and s.key = 'job' and s.kind = 'started'
     order by s.id, u.id);
  v_some := v_jobs[1 : p_limit];
  return (
    with apart as materialized (
      select a.key::bigint as waiter, a.value ->> 'when' as kind,
             array(select t.id::bigint from json_array_elements_text(a.value -> 'after') t (id)) as targets
        from step s cross join lateral json_each(s.value) a
       where s.slot = job_slot(p_flow) and s.job_id = p_flow and s.key = 'job' and s.kind = 'started'
         and a.key::bigint = any (v_some)
    ), edges as materialized (
      select e.waiter, json_agg(e.target::text order by e.target) as after
        from (select e.waiter, e.target
                from unnest(v_some) t (id) join edge e on e.slot = job_slot(t.id) and e.target = t.id
              union
              select a.waiter, t.id from apart a cross join lateral unnest(a.targets) t (id)) e
       group by 1
    )
    select json_build_object('flow', f.id::text, 'name', f.input ->> 'name', 'state', f.state, 'createdAt',
      f.created_at,
             'finishedAt', f.finished_at, 'total', cardinality(v_jobs),
             'jobs', coalesce((
               select json_agg(json_build_object('id', v.id::text, 'type', v.type, 'queue', v.queue, 'state', v.state,
                        'after', coalesce(e.after, '[]'), 'when', coalesce(a.kind, 'succeeded')) order by v.id)
                 from jobs v left join edges e on e.waiter = v.id left join apart a on a.waiter = v.id
                where v.id = any (v_some)), '[]'),
             'others', coalesce((
               select json_agg(json_build_object('id', t.id::text, 'type', v.type, 'queue', v.queue, 'state', v.state,
                        'flow', case when j.parent_key is null then j.parent::text end) order by t.id)
                 from (select distinct t.id from apart a cross join lateral unnest(a.targets) t (id)
                        where t.id <> all (v_some)) t
                 left join jobs v on v.id = t.id
                 left join job j on j.slot = job_slot(t.id) and j.id = t.id), '[]'))
      from jobs f where f.id = p_flow and f.type = flow_type());
end $$;
