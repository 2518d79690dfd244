-- job_run_now: jobs that wait for a time, their first or that of a retry, are due now, and their workers are woken. The
-- time that is left for them to start counts from now. Returns how many; jobs in other states, and those that a stage
-- holds, are left alone.
-- Locks: as job_hold, then agenda rows. Writes: amendment, agenda, tally. Raises: MR002.
create or replace function job_run_now(p_jobs bigint[]) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id bigint;
  v_queue int;
  v_queues int[] := '{}';
  v_count int := 0;
begin
  perform job_must_exist(p_jobs);
  perform job_hold(p_jobs);
  for v_id in select distinct id from unnest(p_jobs) id order by id loop
    continue when job_state(v_id) <> 'delayed'
      or not exists (select from agenda where job_id = v_id and stage is null and due_at < 'infinity');
    continue when not job_amend(v_id, false, null, null, clock_now());
    select queue_id into v_queue from job where slot = job_slot(v_id) and id = v_id;
    v_queues := v_queues || v_queue;
    v_count := v_count + 1;
  end loop;
  perform queue_notify(array(select name from queue where id = any (v_queues)));
  return v_count;
end $$;
