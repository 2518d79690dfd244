-- step_start: enqueue children of a job that somebody works on, for a step of it: all of them, or none. The same step
-- starts them once: asked again, it tells what was started. p_inputs, p_options: as job_enqueue_many. p_detached: they
-- go on when the job ends without success. p_wake: wake sleeping workers of their queues, for a transaction that does
-- nothing else. Returns their ids in the order of p_inputs; null when the token does not hold the job.
-- Locks: one of its own for the job; the claim's row, shared. Writes: step, claim, amendment, and as job_enqueue_many.
-- Raises: MR007, MR019 for too many, and as job_enqueue_many.
create or replace function step_start(p_token uuid, p_job bigint, p_key text, p_inputs json, p_options json,
  p_detached boolean default false, p_wake boolean default false) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_xid constant bigint := xid_now();  -- before queues are read (queues_finish)
  v_slot constant smallint := job_slot(p_job);
  v_jobs bigint[];
begin
  if p_key is null or p_key = '' or length(p_key) > 2 * bound('nameLength') then
    perform raise_error('MR001', 'a step needs a name', null);
  elsif json_typeof(p_inputs) is distinct from 'array' or json_typeof(p_options) is distinct from 'array'
    or json_array_length(p_inputs) <> json_array_length(p_options) then
    perform raise_error('MR001', 'inputs and options differ in number', 'give a list of each');
  elsif json_array_length(p_inputs) > bound('children') then
    perform raise_error('MR019', format('%s children are more than the limit of %s', json_array_length(p_inputs),
      bound('children')), 'start a child that starts others');
  end if;
  if strpos(p_options::text, '\u') > 0 then
    perform json_check('options', p_options);
  end if;
  if exists (select from json_array_elements(p_options) o
              where o ->> 'fingerprint' is not null or o ->> 'schedule' is not null) then
    perform raise_error('MR001', 'a child has no fingerprint and no schedule',
      'the step itself makes sure that it is started once');
  end if;
  -- the same may be asked again while the first to ask, whose connection was lost, is still at it
  perform pg_advisory_xact_lock(hashint8extended(p_job, 'step'::regclass::oid::bigint * 4 + 1));
  if runs_fence(array[(p_token, p_job, null)::run_steps]) = '{}' then
    return null;
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform days_check(v_slot), queues_pin(p_options);
  end if;
  select s.jobs into v_jobs from step s
   where s.slot = v_slot and s.job_id = p_job and s.key = p_key and s.kind = 'started' and s.n = 0;
  if found then
    return v_jobs;
  end if;
  perform jsons_check('input', p_inputs, bound('inputBytes'));
  if json_array_length(p_inputs) > 0 then
    select e.job_ids into v_jobs from enqueue_each(p_inputs, p_options, p_job, p_key) e;
  else
    v_jobs := '{}';
  end if;
  if not p_detached and exists (
    select from job j
      join queue q on q.id = j.queue_id and q.options ? 'ordered'
      join job c on c.slot = any (array(select distinct job_slot(id) from unnest(v_jobs) id)) and c.id = any (v_jobs)
     where j.slot = v_slot and j.id = p_job and chained(q.options, j.group_key is not null)
       and c.queue_id = j.queue_id and c.group_key is not distinct from j.group_key) then
    perform raise_error('MR001', 'a child behind its parent in the order of their group would wait for it for ever',
      'give it another queue or another group');
  end if;
  insert into step (job_id, slot, key, kind, at, about, jobs)
  values (p_job, v_slot, p_key, 'started', clock_now(), case when p_detached then 'detached' end, v_jobs)
  on conflict do nothing;
  if not found then
    perform raise_error('MR007', 'the children of this step were started since this transaction took its snapshot',
      'repeat the transaction, or use READ COMMITTED; nothing was changed');
  end if;
  insert into amendment (job_id, slot, linked, updated_at) values (p_job, v_slot, true, clock_now())
  on conflict do nothing;
  update amendment set linked = true where slot = v_slot and job_id = p_job and not linked;
  update claim set linked = true where token = p_token and p_job = any (jobs) and not linked;
  if p_wake then
    perform queue_notify(array(
      select distinct coalesce(o ->> 'queue', 'default') from json_array_elements(p_options) o));
  end if;
  return v_jobs;
end $$;
