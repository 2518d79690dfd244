-- job_list: jobs that match every filter given, newest first, after p_before (an id) when paging.
-- p_undecided: failed and expired ones that wait for a decision, because nobody has retried or discarded them. States
-- with few members (running, delayed, suspended, failed, expired, cancelled) are found through their own small tables
-- and indexes.
create or replace function job_list(p_queue text default null, p_state text default null, p_type text default null,
  p_tenant text default null, p_created_from timestamptz default null, p_created_to timestamptz default null,
  p_before bigint default null, p_limit int default 100, p_undecided boolean default false) returns setof jobs
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_custom_plan as $$
declare
  v_from bigint := coalesce(job_id_at(p_created_from), 0);
  v_to bigint := least(coalesce(p_before, 9223372036854775807), coalesce(job_id_at(p_created_to), 9223372036854775807));
  v_ids bigint[];
  v_lanes bigint[];
  v_found int := 0;
  v_more int;
begin
  perform state_check(p_state);
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  elsif p_queue is not null then
    perform queue_id(p_queue);
  end if;
  if p_state in ('delayed', 'suspended') and not coalesce(p_undecided, false) then
    v_lanes := case when num_nonnulls(p_queue, p_type) > 0 then array(
      select l.key from lane_known l join queue q on q.id = l.queue_id
       where (p_queue is null or q.name = p_queue) and (p_type is null or l.type = p_type)) end;
    loop  -- the newest of them first: all of them put together at once took 2 s at 100,000
      v_ids := array(
        select g.job_id from agenda g
         where g.job_id >= v_from and g.job_id < v_to
           and g.due_at > clock_now() and (g.waits is not null) = (p_state = 'suspended')
           and (v_lanes is null or g.lane = any (v_lanes))
           and (p_tenant is null or exists (select from job j where j.slot = job_slot(g.job_id) and j.id = g.job_id
                                              and j.tenant = p_tenant))
         order by g.job_id desc limit p_limit);
      exit when v_ids = '{}';
      return query
      select v.* from jobs v
       where v.id = any (v_ids) and v.state = p_state  -- not purged, above all
       order by v.id desc limit p_limit - v_found;
      get diagnostics v_more = row_count;
      v_found := v_found + v_more;
      exit when v_found = p_limit or cardinality(v_ids) < p_limit;
      v_to := v_ids[cardinality(v_ids)];
    end loop;
  elsif p_state = 'running' then
    v_ids := array(select unnest(jobs) from claim);
    return query
    select v.* from jobs v
     where v.id = any (v_ids)
       and v.id >= v_from
       and v.id < v_to
       and v.state = p_state
       and not coalesce(p_undecided, false)
       and (p_queue is null or v.queue = p_queue)
       and (p_type is null or v.type = p_type)
       and (p_tenant is null or v.tenant = p_tenant)
     order by v.id desc limit p_limit;
  elsif p_state in ('delayed', 'suspended') then
    return;  -- none of them has ended
  else
    return query
    select v.* from jobs v
     where v.id >= v_from
       and v.id < v_to
       and (p_state is null or v.state = p_state)
       and (not coalesce(p_undecided, false) or is_undecided(v.state, v.discarded_at))
       and (p_queue is null or v.queue = p_queue)
       and (p_type is null or v.type = p_type)
       and (p_tenant is null or v.tenant = p_tenant)
     order by v.id desc limit p_limit;
  end if;
end $$;
