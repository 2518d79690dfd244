-- job_suspend: a run gives its job back, unharmed, until something happens. p_waits: [{"key", "seconds" or "until",
-- "signals": [names], "children": how many}], of which the first that comes true brings it back. p_steps: what the run
-- has done and not told yet (steps_put). A wait whose seconds begin now is noted as a step, so that its end stays where
-- it is; one for the next try of a step ("retry") has that noted with the try. Returns the ids not held.
-- Locks: the claim's rows. Writes: claim, step, agenda, tally, ticket; amendment where a time to start would pass
-- meanwhile, or a purge was made while the job ran. Raises: MR001, MR002.
create or replace function job_suspend(p_token uuid, p_job bigint, p_waits json, p_steps json default '[]')
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  h claim;
  v_now timestamptz;
  v_waits wait_line[] := run_waits_check(p_waits);
begin
  perform steps_check(p_steps);
  for h in select * from claim_detach(p_token, array[p_job]) loop
    v_now := lane_enter(h.lane);
    perform steps_append(array[(p_token, p_job, p_steps)::run_steps]);
    perform steps_append(array[(p_token, p_job, (
      select coalesce(json_agg(json_build_object('key', w.key, 'kind', 'due', 'seconds', w.seconds)), '[]')
        from unnest(v_waits) w where w.seconds is not null and w.retry is not true))::run_steps]);
    perform claim_suspend(h, v_waits, v_now);
    return '{}';
  end loop;
  return array[p_job];
end $$;

-- run_waits_check: what a run waits for, as it may be given. Raises: MR001.
create or replace function run_waits_check(p_waits json) returns wait_line[]
language plpgsql as $$
declare
  v_waits wait_line[];
begin
  begin
    v_waits := array(select x from json_populate_recordset(null::wait_line, p_waits) x);
  exception when data_exception or program_limit_exceeded or statement_too_complex then
    perform raise_error('MR001', format('waits: %s', left(sqlerrm, 300)), 'give a list of objects');
  end;
  if v_waits = '{}' or exists (
    select from unnest(v_waits) w
     where w.key is null or w.key = '' or length(w.key) > 2 * bound('nameLength')
        or not w.seconds between 0 and bound('seconds')
        or num_nonnulls(w.seconds, w.until, w.signals, w.children) = 0) then
    perform raise_error('MR001', 'a job that is suspended waits for something',
      'give objects with "key" and one of "seconds", "until", "signals" and "children"');
  end if;
  return v_waits;
end $$;

-- claim_suspend: put the job of a detached claim part into the agenda, with what it waits for. It has begun, so that a
-- time to start by no longer counts; its deadline does. Nobody may have told it what it waits for between its last look
-- and now, so it is looked at once more (notice_append).
-- Writes: agenda, tally, ticket, amendment.
create or replace function claim_suspend(h claim, p_waits wait_line[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_id constant bigint := h.jobs[1];
  v_options constant jsonb := (select q.options from lane l join queue q on q.id = l.queue_id where l.key = h.lane);
  v_alone constant boolean := h.attempts[1] > 1
    and not (h.track is not null and coalesce(v_options ->> 'ordered' = 'batches', false))
    and (v_options -> 'lostAlone') is distinct from 'false'
    and exists (select from attempt a where a.slot = h.slot and a.job_id = v_id and a.attempt = h.attempts[1] - 1
                  and a.outcome = 'lost');
  v_due constant timestamptz := coalesce(
    (select min(coalesce(w.until, p_now + seconds(w.seconds))) from unnest(p_waits) w), 'infinity');
  v_start_by timestamptz;
  v_deadline timestamptz;
  v_version int;
  v_track bigint;
begin
  perform days_check(h.slot);
  select coalesce(m.start_by, j.start_by), coalesce(m.deadline, j.deadline), coalesce(m.version, 0),
         group_track(h.lane, j.group_key)
    into v_start_by, v_deadline, v_version, v_track
    from job j left join amendment m on m.slot = h.slot and m.job_id = v_id
   where j.slot = h.slot and j.id = v_id;
  if v_start_by is distinct from coalesce(v_deadline, time_last())
      and (v_start_by is not null or v_deadline is not null)
    or exists (select from lane_purge p where p.lane = h.lane) then
    insert into amendment (job_id, slot, updated_at) values (v_id, h.slot, p_now) on conflict do nothing;
    update amendment set revived_at = p_now, updated_at = p_now,
           start_by = case when v_start_by is not null or v_deadline is not null
                           then coalesce(v_deadline, time_last()) else start_by end
     where slot = h.slot and job_id = v_id;
  end if;
  insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain, waits)
  values (v_id, v_due, h.lane, v_track, h.attempts[1], v_version, v_alone, p_now,
          case when chained(v_options, v_track <> h.lane) then 0 end,
          jsonb_strip_nulls(jsonb_build_object(
            'keys', (select jsonb_agg(w.key) from unnest(p_waits) w),
            'signals', (select jsonb_object_agg(s.name, w.key) from unnest(p_waits) w, unnest(w.signals) s (name))))
          || coalesce((select jsonb_build_object('children', jsonb_object_agg(w.key, 'null'::jsonb),
                'totals', jsonb_object_agg(w.key, w.children))
                from unnest(p_waits) w where w.children is not null having count(*) > 0), '{}'));
  insert into tally (lane, delayed) values (h.lane, 1);
  if exists (select from unnest(p_waits) w where w.signals is not null or w.children is not null) then
    perform notice_append(array[v_id], 2);
  end if;
end $$;
