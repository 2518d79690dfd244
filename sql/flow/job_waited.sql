-- job_waited: the jobs that a job of a flow has waited for, in the order of their ids, and how each has ended. Raises:
-- MR002.
create or replace function job_waited(p_job bigint)
  returns table (job_id bigint, type text, state text, result json, error json)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform job_must_exist(array[p_job]);
  return query
  select o.job_id, j.type, o.state, o.result, o.error
    from job_outcomes(array(select s.n from step s
                             where s.slot = job_slot(p_job) and s.job_id = p_job and s.key = 'after'
                               and s.kind = 'ended')) o
    left join job j on j.slot = job_slot(o.job_id) and j.id = o.job_id
   order by o.job_id;
end $$;
