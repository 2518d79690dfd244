-- waits_audit: suspended jobs that nothing may ever let go on, for those who look for what is wrong. problem:
--   endless  it has waited for p_days for nothing but a signal, and has neither a timeout nor a deadline
--   gone     a child that it waits for is not there any more, and nobody knows how that ended
--   unhandled  it began with a version of its handler that the last worker who had it does not have
--   untold   a child that it waits for has ended p_seconds ago or earlier, and nobody has told it
--   untaken  no worker that is known handles its type, nobody holds one like it, and it has been suspended for ten
--            times p_seconds. One for each type of a queue; about: how many are suspended
-- Tells of p_limit jobs at most that have waited longest for a signal, of ten times as many that it looks at; and looks
-- at p_limit that wait for children: of steps with up to 10,000 of them, at a hundred that the job was not told of.
-- Reads the agenda. Raises: MR001.
create or replace function waits_audit(p_days float8 default 30, p_seconds float8 default 60, p_limit int default 100)
  returns table (problem text, job_id bigint, queue text, type text, suspended_at timestamptz, about text)
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_now constant timestamptz := clock_now();
  g record;
  v_left bigint[];
  v_gone bigint[];
  v_untold bigint[];
begin
  if p_limit is null or p_limit not between 1 and 10000 or not p_days between 0 and 36500
    or not p_seconds between 0 and 86400 then
    perform raise_error('MR001', 'an audit of waits takes up to 36500 days, 86400 seconds and 10000 jobs', null);
  end if;
  return query
  select 'endless'::text, v.id, v.queue, v.type, v.suspended_at,
         (select string_agg(s.name, ', ') from jsonb_array_elements_text(v.waits -> 'signals') s (name))
    from (select a.job_id from agenda a
           where a.due_at = 'infinity' and a.waits ? 'signals' and not a.waits ? 'totals'
             and a.created_at <= v_now - make_interval(secs => p_days * 86400)
           order by a.created_at limit 10 * p_limit) w
    cross join lateral (select j.* from jobs j where j.id = w.job_id limit 1) v
   where v.state = 'suspended' and v.deadline is null
   order by v.suspended_at limit p_limit;

  -- such a job is given back for a minute, again and again
  return query
  select 'unhandled'::text, v.id, v.queue, v.type, s.at, s.n::text
    from (select a.job_id from agenda a
           where a.due_at > v_now - interval '1 hour' and a.due_at <= v_now + interval '61 seconds' and a.waits is null
           order by a.due_at limit 10 * p_limit) w
    join step s on s.slot = job_slot(w.job_id) and s.job_id = w.job_id and s.key = '#version' and s.kind = 'try'
    cross join lateral (select j.* from jobs j where j.id = w.job_id limit 1) v
   where not state_is_final(v.state)
   limit p_limit;

  return query
  with handled as (select * from types_handled())
  select 'untaken'::text, first.job_id, q.name, w.type, first.created_at, w.n::text
    from (select l.queue_id, l.type, sum(t.n) as n, array_agg(distinct l.key) as lanes
            from suspended_tally t join lane_known l on l.key = t.lane
           where l.type <> flow_type()  -- nobody works on those
           group by 1, 2 having sum(t.n) > 0 limit p_limit) w
    join queue q on q.id = w.queue_id
    cross join lateral (select a.job_id, a.created_at from agenda a
                         where a.lane = any (w.lanes) and a.waits is not null
                         order by a.created_at limit 1) first
   where first.created_at <= v_now - make_interval(secs => 10 * p_seconds)
     and exists (select from handled)  -- else those who work here may be none that are known
     and not exists (select from handled h where h.queue = q.name and (h.type = w.type or h.type is null))
     and not exists (select from claim c where c.lane = any (w.lanes));

  for g in
    select a.job_id as id, a.waits -> 'totals' as totals from agenda a
     where a.waits ? 'totals' and a.due_at > v_now and a.created_at <= v_now - make_interval(secs => p_seconds)
     order by a.created_at limit p_limit
  loop
    v_left := array(
      select u.id from step s cross join lateral unnest(s.jobs) u (id)
       where s.slot = job_slot(g.id) and s.job_id = g.id and s.kind = 'started' and g.totals ? s.key
         and cardinality(s.jobs) <= 10000
      except
      select u.id from step s cross join lateral unnest(coalesce(s.jobs, array[s.other])) u (id)
       where s.slot = job_slot(g.id) and s.job_id = g.id and s.kind = 'ended' and g.totals ? s.key
       limit 100);
    v_gone := array(select u.id from unnest(v_left) u (id)
                     where not exists (select from job j where j.slot = job_slot(u.id) and j.id = u.id));
    v_untold := array(select o.job_id from job_outcomes(v_left) o
                       where o.state <> 'unknown'
                         and (select j.finished_at from jobs j where j.id = o.job_id limit 1)
                           <= v_now - make_interval(secs => p_seconds));
    if v_gone <> '{}' or v_untold <> '{}' then
      return query
      select case when v_gone <> '{}' then 'gone' else 'untold' end, v.id, v.queue, v.type, v.suspended_at,
             (v_gone || v_untold)[1]::text
        from jobs v where v.id = g.id and v.state = 'suspended';
    end if;
  end loop;
end $$;
