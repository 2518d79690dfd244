-- progress_put, job_progress: a JSON value a running job leaves behind for others and for its next attempt. Neither the
-- lease nor the attempt changes. progress_put returns false when the token does not hold the job. Raises: MR001, MR002,
-- MR004; 40001 in REPEATABLE READ when the value was moved since (job_rotate).
create or replace function progress_put(p_token uuid, p_job bigint, p_value json) returns boolean
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_now();
  v_held boolean;
begin
  if p_value is null then
    perform raise_error('MR001', 'there is no progress', 'give a JSON value; null of JSON is one');
  end if;
  perform json_check('progress', p_value, bound('progressBytes')), claims_check();
  for v_look in 1 .. 2 loop  -- it may have moved to another row while this waited (job_set_visibility)
    perform from claim where token = p_token and p_job = any (jobs) for update;
    v_held := found;
    exit when v_held;
  end loop;
  if not v_held then
    perform job_must_exist(array[p_job]);
    return false;
  end if;
  update progress set value = p_value, updated_at = v_now where slot = job_slot(p_job) and job_id = p_job;
  if not found then
    insert into progress (job_id, slot, value, updated_at) values (p_job, job_slot(p_job), p_value, v_now)
    on conflict do nothing;
  end if;
  return true;
end $$;
