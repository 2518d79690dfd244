-- job_cancel: cancel jobs by id. Returns how many were cancelled; those already finished are left alone.
-- A waiting job never runs. A running one is closed now: its worker is told at its next call and its report is refused.
-- Locks: claims in token order, then the agenda row of each job. Writes: attempt, amendment, agenda, claim, tally, fingerprint. Raises: MR002.
create or replace function job_cancel(p_jobs bigint[], p_because text default null) returns int
language plpgsql security definer set search_path from current as $$
declare
  v_id bigint;
  v_count int := 0;
begin
  perform job_must_exist(p_jobs);
  -- whole claims, in the order of every report
  perform from claim where token in (select token from claim where jobs && p_jobs) order by token, part for update;
  for v_id in select distinct id from unnest(p_jobs) id order by id loop
    for v_try in 1 .. 20 loop  -- the job may change hands while we look; each try sees the newest state, and only the last ones wait
      case cancel_once(v_id, p_because, v_try > 15)
        when 'cancelled' then
          v_count := v_count + 1;
          perform fingerprint_release(array[v_id]);
          exit;
        when 'finished' then
          exit;
        else
          perform pg_sleep(0.005);
      end case;
    end loop;
  end loop;
  return v_count;
end $$;

-- cancel_once: one try at cancelling one job: 'cancelled', 'finished', or 'moved' when it changed hands meanwhile or, unless
-- p_wait, somebody else is at work on it.
create or replace function cancel_once(p_job_id bigint, p_because text, p_wait boolean) returns text
language plpgsql as $$
declare
  v_slot smallint := job_slot(p_job_id);
  v_now timestamptz := clock_now();
  v_error json := case when p_because is not null then json_build_object('message', p_because) end;
  v_lane bigint;
  c claim;
  v_waited boolean;
begin
  if job_state(p_job_id) in ('succeeded', 'failed', 'cancelled', 'expired') then
    return 'finished';
  end if;
  select lane_key(queue_id, type, priority) into v_lane from job where slot = v_slot and id = p_job_id;

  select k.* into c from claim k where p_job_id = any (k.jobs);
  if found then
    if not p_wait and (select count(*) from claim k where k.token = c.token)
                    > (select count(*) from (select from claim k where k.token = c.token for update skip locked) free) then
      return 'moved';
    end if;
    select * into c from claim_detach(c.token, array[p_job_id]);
    if not found then
      return 'moved';
    end if;
    insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, worker, error)
    values (p_job_id, c.started_at, greatest(v_now, c.started_at), c.attempts[1], v_slot, 'cancelled', 'cancelled', c.worker, v_error);
    return 'cancelled';
  end if;

  perform from lane where key = v_lane for key share;  -- against a purge
  if job_state(p_job_id) in ('succeeded', 'failed', 'cancelled', 'expired') then
    return 'finished';
  elsif not p_wait and exists (select from agenda where job_id = p_job_id) then
    perform from agenda where job_id = p_job_id for update skip locked;
    if not found then
      return 'moved';
    end if;
  end if;
  delete from agenda where job_id = p_job_id;
  v_waited := found;
  if job_close_waiting(v_slot, array[p_job_id], 'cancelled', v_error) = '{}' then
    return 'moved';
  end if;
  if not v_waited then  -- somebody may have put it off while we waited for its amendment
    delete from agenda where job_id = p_job_id;
    v_waited := found;
  end if;
  insert into tally (lane, ready, delayed) values (v_lane, case when v_waited then 0 else -1 end, case when v_waited then -1 else 0 end);
  return 'cancelled';
end $$;
