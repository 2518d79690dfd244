-- job_suspend: a run gives its job back, unharmed, until something happens. p_waits: [{"key", "seconds" or "until",
-- "signals": [names], "children": how many}], of which the first that comes true brings it back. p_steps: what the run
-- has done and not told yet (steps_put). A wait whose seconds begin now is noted as a step, so that its end stays where
-- it is; one for the next try of a step ("retry") has that noted with the try. Returns the ids not held.
-- Locks: the claim's rows. Writes: claim, step, agenda, tally, ticket; amendment where a time to start would pass
-- meanwhile, or a purge may have been made while the job ran. Raises: MR001, MR002.
create or replace function job_suspend(p_token uuid, p_job bigint, p_waits json, p_steps json default '[]')
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
begin
  return runs_suspend(array[(p_token, 'suspended', json_build_array(p_job), null, null, null, null, p_steps,
    p_waits)::settlement]);
end $$;

-- runs_suspend: the same for many runs. Each claim is taken apart once, however many of its jobs are suspended: its row
-- names all that it holds, and would be written anew for each of them.
-- Locks: the claims' rows, in token order. Writes and raises: as job_suspend.
create or replace function runs_suspend(p_runs settlement[]) returns bigint[]
language plpgsql as $$
declare
  v_runs run_suspended[];
  r run_suspended;
  h claim;
  v_token uuid;
  v_jobs bigint[];
  v_now timestamptz;
  v_held bigint[] := '{}';
  v_told bigint[] := '{}';
begin
  v_runs := array(
    select (x.token, x.job, x.steps, run_waits_check(x.waits))::run_suspended
      from (select distinct on (token, jobs ->> 0) token, (jobs ->> 0)::bigint, coalesce(steps, '[]'), waits
              from unnest(p_runs)) x (token, job, steps, waits));
  perform steps_check(x.steps) from unnest(v_runs) x;
  for v_token, v_jobs in select x.token, array_agg(x.job) from unnest(v_runs) x group by 1 order by 1 loop
    for h in select * from claim_detach(v_token, v_jobs) loop
      v_now := lane_enter(h.lane);
      v_held := v_held || h.jobs;
      perform steps_append(array(
        select (v_token, x.job, x.begun)::run_steps
          from (select u.job, run_steps_begun(u.steps, u.waits) as begun
                  from unnest(v_runs) u where u.token = v_token and u.job = any (h.jobs)) x
         where json_array_length(x.begun) > 0));
      foreach r in array array(select x from unnest(v_runs) x where x.token = v_token and x.job = any (h.jobs)) loop
        perform claim_suspend(h, r.job, r.waits, v_now);
        if exists (select from unnest(r.waits) w where w.signals is not null or w.children is not null) then
          v_told := v_told || r.job;
        end if;
      end loop;
      insert into tally (lane, delayed) values (h.lane, cardinality(h.jobs));
    end loop;
  end loop;
  perform notice_append(v_told, 2);
  return array(select x.job from unnest(v_runs) x where x.job <> all (v_held));
end $$;

-- run_steps_begun: what a run has done, and the waits whose time begins now.
create or replace function run_steps_begun(p_steps json, p_waits wait_line[]) returns json
language sql stable as $$
  select case when not exists (select from unnest(p_waits) w where w.seconds is not null and w.retry is not true)
    then p_steps
    else (select json_agg(e.value order by e.i) from (
      select s.value, s.i from json_array_elements(p_steps) with ordinality s (value, i)
      union all
      select json_build_object('key', w.key, 'kind', 'due', 'seconds', w.seconds), 1000000 + w.i
        from unnest(p_waits) with ordinality w (key, seconds, until, signals, children, retry, i)
       where w.seconds is not null and w.retry is not true) e) end
$$;

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
        or num_nonnulls(w.seconds, w.until, w.signals, w.children) = 0
        or not w.until between time_first() and time_last()
        or w.children < 0
        or array_ndims(w.signals) is distinct from 1 and w.signals is not null
        or exists (select from unnest(w.signals) s where s is null)) then
    perform raise_error('MR001', 'a job that is suspended waits for something',
      'give objects with "key" and one of "seconds", "until", "signals" and "children"');
  end if;
  return v_waits;
end $$;

-- claim_suspend: put a job of a detached claim part into the agenda, with what it waits for. It has begun, so that a
-- time to start by no longer counts; its deadline does. Somebody may have told it what it waits for between its last
-- look and now, so it is looked at once more: the caller appends the notice, and counts it as delayed.
-- Writes: agenda, amendment.
create or replace function claim_suspend(h claim, p_job bigint, p_waits wait_line[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_id constant bigint := p_job;
  v_attempt constant int := h.attempts[array_position(h.jobs, p_job)];
  v_options constant jsonb := (select q.options from lane l join queue q on q.id = l.queue_id where l.key = h.lane);
  v_alone constant boolean := v_attempt > 1
    and not (h.track is not null and coalesce(v_options ->> 'ordered' = 'batches', false))
    and (v_options -> 'lostAlone') is distinct from 'false'
    and exists (select from attempt a where a.slot = h.slot and a.job_id = v_id and a.attempt = v_attempt - 1
                  and a.outcome = 'lost');
  -- not before the time that was noted a moment ago, or the next call would find that it has to wait once more
  v_from constant timestamptz := greatest(p_now, clock_now());
  v_due constant timestamptz := coalesce(
    (select min(coalesce(w.until, v_from + seconds(w.seconds))) from unnest(p_waits) w), 'infinity');
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
  if v_start_by = 'infinity' then  -- computed when its first attempt ends
    v_start_by := null;
  end if;
  if v_start_by is distinct from coalesce(v_deadline, time_last())
      and (v_start_by is not null or v_deadline is not null)
    or exists (select from lane_purge p where p.lane = h.lane)
    or current_setting('transaction_isolation') <> 'read committed' then  -- which may not see a purge
    insert into amendment (job_id, slot, updated_at) values (v_id, h.slot, p_now) on conflict do nothing;
    update amendment set revived_at = p_now, updated_at = p_now,
           start_by = case when v_start_by is not null or v_deadline is not null
                           then coalesce(v_deadline, time_last()) else start_by end
     where slot = h.slot and job_id = v_id;
  end if;
  insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain, waits)
  values (v_id, v_due, h.lane, v_track, v_attempt, v_version, v_alone, p_now,
          case when chained(v_options, v_track <> h.lane) then 0 end,
          jsonb_strip_nulls(jsonb_build_object(
            'keys', (select jsonb_agg(w.key) from unnest(p_waits) w),
            'signals', (select jsonb_object_agg(s.name, w.key) from unnest(p_waits) w, unnest(w.signals) s (name))))
          || coalesce((select jsonb_build_object('children', jsonb_object_agg(w.key, 'null'::jsonb),
                'totals', jsonb_object_agg(w.key, w.children))
                from unnest(p_waits) w where w.children is not null having count(*) > 0), '{}'));
end $$;
