-- job_count: how many jobs that match every filter given are in each state. Counts what the view "jobs" shows, in one
-- snapshot. Costs what reading those jobs costs: a tenant's are found by its index, those of a queue, type or group by
-- a scan of the log, history included, within the time given. For what waits and runs in a queue, queue_depth is
-- cheaper. Raises: MR001 without a filter, MR003.
create or replace function job_count(p_queue text default null, p_type text default null, p_tenant text default null,
  p_group text default null, p_created_from timestamptz default null, p_created_to timestamptz default null,
  out ready bigint, out delayed bigint, out running bigint, out blocked bigint, out succeeded bigint, out failed bigint,
  out expired bigint, out cancelled bigint, out suspended bigint)
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_custom_plan as $$
declare
  v_from bigint := coalesce(job_id_at(p_created_from), 0);
  v_to bigint := coalesce(job_id_at(p_created_to), 9223372036854775807);
begin
  if num_nonnulls(p_queue, p_type, p_tenant, p_group, p_created_from, p_created_to) = 0 then
    perform raise_error('MR001', 'counting needs a filter', 'give a queue, a type, a tenant, a group or a time');
  elsif p_queue is not null then
    perform queue_id(p_queue);
  end if;
  select count(*) filter (where v.state = 'ready'), count(*) filter (where v.state = 'delayed'),
         count(*) filter (where v.state = 'running'),
         count(*) filter (where v.state = 'blocked'), count(*) filter (where v.state = 'succeeded'),
         count(*) filter (where v.state = 'failed'),
         count(*) filter (where v.state = 'expired'), count(*) filter (where v.state = 'cancelled'),
         count(*) filter (where v.state = 'suspended')
    into ready, delayed, running, blocked, succeeded, failed, expired, cancelled, suspended
    from jobs v
   where (p_tenant is null or v.tenant = p_tenant)
     and (p_queue is null or v.queue = p_queue)
     and (p_type is null or v.type = p_type)
     and (p_group is null or v."group" = p_group) and v.id >= v_from and v.id < v_to;
end $$;
