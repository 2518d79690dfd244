-- job_find: the ids of jobs that match every filter given, newest first, before p_before; and where to go on ("next"),
-- null when that was all. For people who look: it stops after p_seconds with what it has found until then, which may be
-- nothing. p_live: only jobs that have not ended. p_error: a part of the last error's message, whatever the case of its
-- letters. It goes back through the jobs a part at a time: what is fixed at enqueue is compared in the log, what is
-- derived in the view "jobs". Running, delayed, suspended and failed ones, which may be few among many, are
-- found through the claims, the agenda, and the index of attempts that did not succeed. Raises: MR001, MR003.
create or replace function job_find(p_queue text default null, p_state text default null, p_type text default null,
  p_tenant text default null, p_group text default null, p_fingerprint text default null, p_error text default null,
  p_undecided boolean default false, p_live boolean default false, p_created_from timestamptz default null,
  p_created_to timestamptz default null, p_before bigint default null, p_limit int default 100,
  p_seconds float8 default 2, out ids bigint[], out next bigint)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_custom_plan
  set enable_sort = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_from constant bigint := coalesce(job_id_at(p_created_from), 0);
  v_to bigint := least(coalesce(p_before, 9223372036854775807), coalesce(job_id_at(p_created_to), 9223372036854775807));
  v_until constant timestamptz := clock_timestamp() + seconds(p_seconds);
  v_part int := 200;
  v_some bigint[];
begin
  perform state_check(p_state);
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  ids := '{}';
  loop
    v_some := case
      when p_state = 'running'
        then array(select u.id from claim c
                     cross join lateral unnest(c.jobs) u (id)
                    where u.id >= v_from and u.id < v_to
                    order by 1 desc limit v_part)
      when p_state in ('delayed', 'suspended')
        then array(select g.job_id from agenda g
                    where g.job_id >= v_from and g.job_id < v_to and (g.waits is not null) = (p_state = 'suspended')
                    order by 1 desc limit v_part)
      when p_state = 'failed'
        then array(select a.job_id from attempt a
                    where a.state <> 'succeeded' and a.state = 'failed' and a.job_id >= v_from and a.job_id < v_to
                    order by 1 desc limit v_part)
      else array(select j.id from job j
                  where j.id >= v_from
                    and j.id < v_to
                    and (v_queue_id is null or j.queue_id = v_queue_id)
                    and (p_type is null or j.type = p_type)
                    and (p_tenant is null or j.tenant = p_tenant)
                    and (p_group is null or j.group_key = p_group)
                    and (p_fingerprint is null or j.fingerprint = p_fingerprint)
                  order by j.id desc limit v_part) end;
    ids := ids || array(
      select v.id from jobs v
       where v.id = any (v_some)
         and (p_state is null or v.state = p_state)
         and (not coalesce(p_live, false) or not state_is_final(v.state))
         and (not coalesce(p_undecided, false) or is_undecided(v.state, v.discarded_at))
         and (p_queue is null or v.queue = p_queue)
         and (p_type is null or v.type = p_type)
         and (p_tenant is null or v.tenant = p_tenant)
         and (p_group is null or v."group" = p_group)
         and (p_fingerprint is null or v.fingerprint = p_fingerprint)
         and (p_error is null or strpos(lower(v.last_error ->> 'message'), lower(p_error)) > 0)
       order by v.id desc);
    if cardinality(ids) > p_limit then
      ids := ids[1:p_limit];
      next := ids[p_limit];
      return;
    elsif cardinality(v_some) < v_part then
      return;
    end if;
    v_to := v_some[v_part];
    if cardinality(ids) = p_limit or clock_timestamp() >= v_until then
      next := v_to;
      return;
    end if;
    v_part := least(v_part * 2, 2000);
  end loop;
end $$;
