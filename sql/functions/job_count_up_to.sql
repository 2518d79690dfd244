-- job_count_up_to: how many jobs match every filter of job_list, counting no further than p_most. Costs what finding them costs, like job_list. Raises: MR001, MR003.
create or replace function job_count_up_to(p_most int, p_queue text default null, p_state text default null, p_type text default null, p_tenant text default null,
  p_created_from timestamptz default null, p_created_to timestamptz default null, p_undecided boolean default false, p_group text default null,
  p_fingerprint text default null, p_error text default null, p_live boolean default false) returns int
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_custom_plan as $$
declare
  v_from bigint := coalesce(job_id_at(p_created_from), 0);
  v_to bigint := coalesce(job_id_at(p_created_to), 9223372036854775807);
begin
  if p_most is null or p_most not between 1 and 100000 then
    perform raise_error('MR001', format('counting up to %s is not possible', p_most), 'give 1 to 100000');
  elsif p_queue is not null then
    perform queue_id(p_queue);
  end if;
  return (select count(*) from (
    select from jobs v where v.id >= v_from and v.id < v_to and (p_state is null or v.state = p_state)
       and (not coalesce(p_live, false) or v.state in ('delayed', 'ready', 'running', 'blocked'))
       and (not coalesce(p_undecided, false) or v.state in ('failed', 'expired') and v.discarded_at is null)
       and (p_queue is null or v.queue = p_queue) and (p_type is null or v.type = p_type) and (p_tenant is null or v.tenant = p_tenant)
       and (p_group is null or v."group" = p_group) and (p_fingerprint is null or v.fingerprint = p_fingerprint)
       and (p_error is null or strpos(lower(v.last_error ->> 'message'), lower(p_error)) > 0)
     limit p_most) found);
end $$;
