-- job_amend: change a job that still waits: its input, or the time it runs. Returns false when it waits no longer.
-- A job that is already claimable is moved by voiding its ticket (a higher version) and giving it a new place.
-- Locks: as job_hold, then the agenda row: until the caller commits no claim hands out the old version.
-- Writes: amendment, agenda, tally, scout.
create or replace function job_amend(p_job_id bigint, p_replace boolean, p_input json, p_headers json,
  p_run_at timestamptz) returns boolean
language plpgsql as $$
declare
  v_slot smallint := job_slot(p_job_id);
  v_now timestamptz := clock_now();
  j job;
  v_lane bigint;
  v_waits_in_agenda boolean;
  v_version int;
begin
  select * into j from job where slot = v_slot and id = p_job_id;
  v_lane := lane_key(j.queue_id, j.type, j.priority, j.resources);
  perform job_hold(array[p_job_id]);
  if job_state(p_job_id) not in ('ready', 'blocked', 'delayed') then
    return false;
  end if;
  perform from agenda where job_id = p_job_id for update;  -- waits while somebody promotes it
  v_waits_in_agenda := found;

  insert into amendment (job_id, slot, replaced, input, headers, run_at, updated_at)
  values (p_job_id, v_slot, p_replace, case when p_replace then p_input end, case when p_replace then p_headers end,
          p_run_at, v_now)
  on conflict do nothing;
  if not found then
    update amendment set replaced = replaced or p_replace, input = case when p_replace then p_input else input end,
           headers = case when p_replace then p_headers else headers end, run_at = coalesce(p_run_at, run_at),
           updated_at = v_now
     where slot = v_slot and job_id = p_job_id;
  end if;
  if p_replace and job_bytes(p_input, p_headers, null) > greatest(job_bytes(j.input, j.headers, null), 4096) then
    perform lane_scout(v_lane, j.queue_id, j.type, j.priority, j.resources, j.group_key is not null, j.cost is not null,
      true);
  end if;
  if p_run_at is null then
    return true;
  end if;

  update amendment
     set start_by = least(
           greatest(p_run_at, v_now) + (j.start_by - greatest(j.run_at, job_created_at(j.id))), time_last())
   where slot = v_slot and job_id = p_job_id and isfinite(j.start_by);
  if v_waits_in_agenda then
    insert into tally (lane, ready, delayed)
    select lane, -1, 1 from agenda
     where job_id = p_job_id and due_at <> 'infinity' and chain = 1;
    update agenda set due_at = p_run_at, chain = case when chain is not null and attempt > 1 then 0 end
     where job_id = p_job_id and due_at <> 'infinity';
  else
    update amendment set version = version + 1
     where slot = v_slot and job_id = p_job_id
    returning version into v_version;
    insert into agenda (job_id, due_at, lane, track, attempt, version, created_at)
    values (p_job_id, p_run_at, v_lane, group_track(v_lane, j.group_key),
            coalesce((select max(a.attempt) from attempt a where a.slot = v_slot and a.job_id = p_job_id), 0) + 1,
            v_version, v_now);
    insert into tally (lane, ready, delayed) values (v_lane, -1, 1);
  end if;
  return true;
end $$;
