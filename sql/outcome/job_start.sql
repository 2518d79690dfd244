-- job_start: say that the handler of these jobs has begun. Only for claims made with p_track_start: when such a claim
-- is lost, jobs never started go back without using an attempt. Returns the ids not held. Writes: claim. Raises: MR002.
create or replace function job_start(p_token uuid, p_jobs bigint[]) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  c claim;
  v_all bigint[] := '{}';
begin
  perform claims_check();
  for c in select * from claim where token = p_token order by part for update loop
    v_all := v_all || c.jobs;
    update claim set unstarted = array(select id from unnest(c.unstarted) id where id not in (select unnest(p_jobs))),
           touched_at = clock_now()
     where token = p_token and part = c.part and c.unstarted && p_jobs;
  end loop;
  perform job_must_exist(array(select id from unnest(p_jobs) id where id not in (select unnest(v_all))));
  return array(select id from unnest(p_jobs) id where id not in (select unnest(v_all)));
end $$;
