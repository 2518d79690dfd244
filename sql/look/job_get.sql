-- job_get: one job with its attempts and progress, as JSON with ids as strings; null when there is no such job.
create or replace function job_get(p_job bigint) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_job json;
begin
  select regexp_replace(row_to_json(v)::text, '^\{"id":(\d+)', '{"id":"\1"')::json into v_job
    from (select j.*, j.parent::text as parent_text from jobs j where j.id = p_job) v;
  if v_job is null then
    return null;
  end if;
  return json_build_object(
    'job', v_job,
    'attempts', (
      select coalesce(json_agg(
               regexp_replace(row_to_json(a)::text, '^\{"job_id":(\d+)', '{"job_id":"\1"')::json order by a.attempt),
             '[]')
        from attempts a
       where a.job_id = p_job),
    'progress', (select p.value from progress p where p.slot = job_slot(p_job) and p.job_id = p_job));
end $$;
