-- enqueue_unique: append one job unless its schedule slot is taken or its fingerprint names a live job. The mode
-- decides what a duplicate does to a job that still waits; with "window" only the seconds count. Producers of the same
-- fingerprint wait for each other. A negative job_id is that of a duplicate's job in another cell (fingerprint_cells).
-- Locks: the fingerprint row; replace and debounce of a ready job also lock its lane until the caller commits. Writes:
-- fingerprint, schedule_run, job, ticket or agenda, tally, amendment. Raises: MR007 when the snapshot is older than the
-- job's day (snapshot_check); MR030.
create or replace function enqueue_unique(p job_plan, p_input json, p_source json default null, out job_id bigint,
  out duplicate boolean)
language plpgsql as $$
declare
  f fingerprint;
  v_id bigint := job_id_new();
  v_until timestamptz := clock_now() + seconds(p.fingerprint_seconds);
  v_state text;
  v_held boolean := false;
begin
  duplicate := false;
  if p.schedule is not null then
    insert into schedule_run (schedule, slot_at, job_id) values (p.schedule, p.schedule_slot, v_id)
    on conflict do nothing;
    if not found then
      select r.job_id into job_id from schedule_run r where r.schedule = p.schedule and r.slot_at = p.schedule_slot;
      duplicate := true;
      return;
    end if;
  end if;

  while p.fingerprint is not null loop
    insert into fingerprint (queue_id, fingerprint, job_id, until) values (p.queue_id, p.fingerprint, v_id, v_until)
    on conflict do nothing;
    exit when found;
    select * into f from fingerprint where queue_id = p.queue_id and fingerprint = p.fingerprint for update;
    continue when not found;
    if f.cell is not null then  -- its job has ended there, before the queue came here
      if f.until > clock_now() then
        job_id := f.job_id; duplicate := true;
        return;
      end if;
      update fingerprint set job_id = v_id, follow_up = null, until = v_until, cell = null
       where queue_id = p.queue_id and fingerprint = p.fingerprint;
      exit;
    elsif f.job_id < 0 then  -- given up to the cell that the queue has moved to (fingerprint_give_up)
      perform queue_refuse(p.queue_id);
    end if;
    -- else a job whose row was moved would seem to have ended
    perform days_check(job_slot(f.job_id)), days_check(job_slot(f.follow_up));
    if p.fingerprint_mode in ('replace', 'debounce')
      and not (job_over(f.job_id) and (f.follow_up is null or job_over(f.follow_up))) then
      -- before its state is read: it may be claimed or end meanwhile
      perform job_hold(array_remove(array[f.job_id, f.follow_up], null));
    end if;
    v_state := job_state(f.job_id);
    if f.follow_up is not null and job_over(f.follow_up) then
      f.follow_up := null;
    end if;

    if v_state is null or state_is_final(v_state) or (p.fingerprint_mode = 'window' and f.until <= clock_now()) then
      if f.follow_up is not null then  -- its end was not noticed yet
        perform pg_advisory_xact_lock(job_mark(f.follow_up));
        update fingerprint set job_id = f.follow_up, follow_up = null
         where queue_id = p.queue_id and fingerprint = p.fingerprint;
        perform follow_up_release(f.follow_up);
        continue;
      end if;
      if f.until > clock_now() then
        job_id := f.job_id; duplicate := true;
        return;
      end if;
      update fingerprint set job_id = v_id, follow_up = null, until = v_until
       where queue_id = p.queue_id and fingerprint = p.fingerprint;
      exit;
    end if;

    if run_has_begun(f.job_id, v_state) and p.fingerprint_mode = 'followUp' and f.follow_up is null then
      update fingerprint set follow_up = v_id where queue_id = p.queue_id and fingerprint = p.fingerprint;
      v_held := true;
      exit;
    end if;

    job_id := case when run_has_begun(f.job_id, v_state) then coalesce(f.follow_up, f.job_id) else f.job_id end;
    duplicate := true;
    if p.fingerprint_mode in ('replace', 'debounce') and not run_has_begun(job_id, job_state(job_id)) then
      perform job_amend(job_id, true, p_input, p.headers, case when p.fingerprint_mode = 'debounce' then p.run_at end);
    end if;
    return;
  end loop;

  perform job_store(v_id, p, p_input,
    case when v_held or p.stage is not null then timestamptz 'infinity' else p.run_at end, p_source);
  job_id := v_id;
end $$;

-- run_has_begun: whether work on a job has begun and goes on, now or later: it runs, is suspended, or has done steps
-- and waits to go on. What it has done was done with the input that it has.
create or replace function run_has_begun(p_job_id bigint, p_state text) returns boolean
language plpgsql as $$
begin
  return state_has_begun(p_state) or exists (
    select from step s where s.slot = job_slot(p_job_id) and s.job_id = p_job_id and s.kind <> 'signal');
end $$;

-- fingerprints_reserve: take fingerprints for this transaction, all in one order, so that two who need several cannot
-- wait for each other. One that nobody has is made with job 0, which stands in nobody's way. Locks: fingerprint rows in
-- key order. Writes: fingerprint.
create or replace function fingerprints_reserve(p_queues int[], p_fingerprints text[]) returns void
language plpgsql as $$
begin
  insert into fingerprint as f (queue_id, fingerprint, job_id)
  select distinct u.queue_id, u.fingerprint, 0 from unnest(p_queues, p_fingerprints) u (queue_id, fingerprint)
   order by 1, 2
  -- nothing is changed, but each row is locked in its turn
  on conflict (queue_id, fingerprint) do update set job_id = f.job_id where false;
end $$;
