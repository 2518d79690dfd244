-- job_cancel: cancel jobs by id. Returns how many were cancelled; those already finished are left alone.
-- A waiting job never runs. A running one is closed now: its worker is told at its next call and its report is refused.
-- Who did it, or why, is on record (decision) where it is told.
-- Locks: as job_hold, then claims in token order, then agenda rows. Writes: attempt, amendment, agenda, claim, tally,
-- fingerprint, decision. Raises: MR002.
create or replace function job_cancel(p_jobs bigint[], p_because text default null, p_by text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_error json := case when p_because is not null then json_build_object('message', p_because) end;
  v_id bigint;
  v_cancelled bigint[] := '{}';
begin
  perform job_must_exist(p_jobs);
  perform job_hold(p_jobs);
  perform from claim where token in (select token from claim where jobs && p_jobs) order by token, part for update;
  for v_id in select distinct id from unnest(p_jobs) id order by id loop
    if cancel_running(v_id, v_error) or cancel_waiting(v_id, v_error) then
      v_cancelled := v_cancelled || v_id;
    end if;
  end loop;
  if p_by is not null or p_because is not null then
    insert into decision (job_id, decided_at, action, decided_by, because)
    select c.id, clock_now(), 'cancel', p_by, p_because from unnest(v_cancelled) c (id);
  end if;
  perform fingerprint_release(v_cancelled);
  return cardinality(v_cancelled);
end $$;

-- cancel_running: take a job out of the claim that names it and record its end. False when no claim does.
create or replace function cancel_running(p_job_id bigint, p_error json) returns boolean
language plpgsql as $$
declare
  v_token uuid;
  c claim;
begin
  select k.token into v_token from claim k where p_job_id = any (k.jobs);
  if not found then
    return false;
  end if;
  select * into c from claim_detach(v_token, array[p_job_id]);
  if not found then
    return false;
  end if;
  insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker, error)
  values (p_job_id, c.started_at, greatest(clock_now(), c.started_at), c.attempts[1], c.slot, 'cancelled', 'cancelled',
          c.worker, p_error);
  if c.linked then
    perform notice_append(array[p_job_id], 1);
  end if;
  return true;
end $$;

-- cancel_waiting: end a job that waits and is held by this transaction. False when it has ended already.
create or replace function cancel_waiting(p_job_id bigint, p_error json) returns boolean
language plpgsql as $$
declare
  v_slot smallint := job_slot(p_job_id);
  v_delayed int;
  v_stage text;
begin
  if state_is_final(job_state(p_job_id)) then
    return false;
  end if;
  -- waits while somebody promotes it
  delete from agenda
   where job_id = p_job_id
  returning stage, case when chain = 1 then 0 else 1 end into v_stage, v_delayed;
  v_delayed := coalesce(v_delayed, 0);
  perform job_close_waiting(v_slot, array[p_job_id], 'cancelled', p_error);
  insert into tally (lane, ready, delayed, staged)
  select lane_key(queue_id, type, priority, resources), v_delayed - 1, -v_delayed,
         case when v_stage is null then 0 else -1 end
    from job
   where slot = v_slot and id = p_job_id;
  return true;
end $$;
