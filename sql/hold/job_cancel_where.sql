-- job_cancel_where: cancel all live jobs that match every filter given, at most p_limit. Returns how many. Scans the
-- live job log; a tenant is found by its index. Writes as job_cancel. Raises: MR001, also without a filter, MR003.
create or replace function job_cancel_where(p_queue text default null, p_type text default null,
  p_tenant text default null, p_fingerprint text default null, p_because text default null, p_limit int default 100000,
  p_by text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := case when p_queue is not null then queue_id(p_queue) end;
begin
  if p_type is null and p_tenant is null and p_fingerprint is null then
    perform raise_error('MR001', 'cancelling needs a type, a tenant or a fingerprint',
      'use queue_purge to drop all waiting jobs of a queue');
  end if;
  perform limit_check(p_limit);
  return job_cancel(array(
    select j.id from job j
     where (p_tenant is null or j.tenant = p_tenant)
       and (p_type is null or j.type = p_type)
       and (v_queue_id is null or j.queue_id = v_queue_id)
       and (p_fingerprint is null
            or j.id in (select unnest(array[f.job_id, f.follow_up]) from fingerprint f
                         where f.fingerprint = p_fingerprint))
       and (  -- the limit makes sure that each is looked up by itself: joined, all that ever ended would be read
         select true from job_attempt a left join amendment m on m.slot = a.slot and m.job_id = a.job_id
          where a.slot = j.slot and a.job_id = j.id and attempt_is_end(a.state, a.attempt, m.revived_after)
          limit 1) is null
     order by j.id limit p_limit), p_because, p_by);
end $$;
