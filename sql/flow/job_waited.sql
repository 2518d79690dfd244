-- job_waited: the jobs that a job of a flow has waited for, in the order of their ids, and how each has ended. What it
-- was told of stands in its own rows, or in one of its flow's, where many were told of the same (edges_deliver).
-- Raises: MR002.
create or replace function job_waited(p_job bigint)
  returns table (job_id bigint, type text, state text, result json, error json)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_flow bigint;
begin
  perform job_must_exist(array[p_job]);
  select j.parent into v_flow from job j where j.slot = job_slot(p_job) and j.id = p_job and j.parent_key is null;
  return query
  select o.job_id, j.type, o.state, o.result, o.error
    from job_outcomes(array(
      select s.n from step s
       where s.slot = job_slot(p_job) and s.job_id = p_job and s.key = 'after' and s.kind = 'ended' and s.jobs is null
      union
      select s.other from step s
       where s.slot = job_slot(v_flow) and s.job_id = v_flow and s.key = 'after' and s.kind = 'ended'
         and p_job = any (s.jobs))) o
    left join job j on j.slot = job_slot(o.job_id) and j.id = o.job_id
   order by o.job_id;
end $$;
