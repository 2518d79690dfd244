-- job_tell: send a signal to a job. It is kept until the job waits for it. With p_id it counts once, however often it
-- is sent. Commits with the caller's transaction, and takes no lock: whoever delivers it does so later
-- (notices_deliver). Returns whether it is new. Writes: step, ticket. Raises: MR001, MR002, MR004, MR017 when the job
-- has ended, MR019 when too many are kept.
create or replace function job_tell(p_job bigint, p_name text, p_value json default null, p_id text default null)
  returns boolean
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_slot constant smallint := job_slot(p_job);
  v_state text;
begin
  perform name_check('name of a signal', coalesce(nullif(p_name, ''),
    raise_error('MR001', 'a signal needs a name', 'give the name that the job waits for')));
  perform name_check('id of a signal', p_id, 500);
  perform json_check('value of a signal', p_value, bound('stepBytes'));
  if not exists (select from agenda g where g.job_id = p_job and g.waits is not null and g.due_at > clock_now()
                   and not agenda_dropped(g)) then  -- else it is suspended, and has not ended
    perform job_must_exist(array[p_job]);
    v_state := job_state(p_job);
    if state_is_final(v_state) then
      perform raise_error('MR017', format('job %s has ended as %s', p_job, v_state),
        'a job that has ended hears nothing any more', json_build_object('state', v_state)::text);
    end if;
  end if;
  if p_id is not null and exists (
    select from step s where s.slot = v_slot and s.job_id = p_job and s.key = p_name and s.kind = 'signal'
      and s.about = p_id) then
    return false;
  end if;
  if (select count(*) >= bound('signals') from step s
       where s.slot = v_slot and s.job_id = p_job and s.key = p_name and s.kind = 'signal') then
    perform raise_error('MR019', format('job %s was sent %s signals "%s"', p_job, bound('signals'), p_name),
      'send fewer, or start a job for each');
  end if;
  insert into step (job_id, slot, key, kind, n, at, about, value)
  values (p_job, v_slot, p_name, 'signal', nextval('step_id_seq'), clock_now(), p_id, p_value);
  perform notice_append(array[p_job], 2);
  return true;
end $$;
