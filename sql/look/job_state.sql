-- job_state: the one state of a job, or null when there is no such job. The view "jobs" derives the same for many.
-- Claims are read first: each statement sees the newest snapshot, and a job that leaves its claim meanwhile leaves a
-- trace the later ones see.
create or replace function job_state(p_job_id bigint) returns text
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_slot smallint := job_slot(p_job_id);
  j job;
  a job_attempt;
  m amendment;
  g agenda;
  v_running boolean;
begin
  select * into j from job where slot = v_slot and id = p_job_id;
  if not found then
    return null;
  end if;
  v_running := exists (select from claim c where p_job_id = any (c.jobs));
  select * into a from job_attempt t where t.slot = v_slot and t.job_id = p_job_id order by t.attempt desc limit 1;
  select * into m from amendment where slot = v_slot and job_id = p_job_id;
  if attempt_is_end(a.state, a.attempt, m.revived_after) then
    return a.state;
  elsif m.closed_at is not null then
    return m.closed_as;
  elsif v_running then
    return 'running';
  elsif job_purged_at(j, m) is not null then
    return 'cancelled';
  end if;
  select * into g from agenda where job_id = p_job_id;
  if g.due_at > clock_now() then
    return case when g.waits is null then 'delayed' else 'suspended' end;
  elsif coalesce(m.start_by, j.start_by) <= clock_now() then
    return 'expired';
  elsif exists (select from queue q
                 where q.id = j.queue_id
                   and (q.paused_at is not null or q.options ? 'waitsFor' and queue_waits(q.id) is not null))
     or exists (select from pause z
                 where z.queue_id = j.queue_id
                   and coalesce(z.type = j.type, true)
                   and (z.group_key is null or z.group_key is not distinct from j.group_key))
     or exists (select from breaker_event e where e.queue_id = j.queue_id and e.type = j.type and e.kind = 'opened')
        and exists (select from type_blocked b
                     where b.queue_id = j.queue_id and b.type = j.type and b.until > clock_now()) then
    return 'blocked';
  end if;
  return 'ready';
end $$;

-- job_over: whether a job has ended, or is not there any more.
create or replace function job_over(p_job_id bigint) returns boolean
language plpgsql as $$
  begin return coalesce(state_is_final(job_state(p_job_id)), true); end
$$;

-- job_purged_at: when a waiting job was purged together with its lane; null when it was not.
-- A job that was running then, and came back later, outlives the purge: its attempt or its revival is newer.
create or replace function job_purged_at(j job, m amendment) returns timestamptz
language plpgsql stable as $$
declare
  p lane_purge;
begin
  for p in
    select * from lane_purge x
     where x.lane = lane_key(j.queue_id, j.type, j.priority, j.resources)
     order by x.purged_at desc
  loop
    if purge_saw(p, j.xid, j.id)
      and (p.group_key is null or p.group_key is not distinct from j.group_key)
      and coalesce(m.revived_at, '-infinity') < p.purged_at
      and not exists (select from job_attempt a
                       where a.slot = j.slot and a.job_id = j.id and a.finished_at > p.purged_at) then
      return p.purged_at;
    end if;
  end loop;
  return null;
end $$;
