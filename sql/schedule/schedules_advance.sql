-- schedules_advance: make the jobs of slots whose time has come, as far as their schedules allow: those asked for by
-- hand at once, those of a batch as many as may run at once, others one after another, or all when they may overlap; of
-- one that is paused only those asked for by hand. Returns how many. The caller holds the rows of schedule_state.
-- Writes: schedule_pending, schedule_run, schedule_state, and as job_enqueue_many.
create or replace function schedules_advance(p_names text[]) returns int
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_chosen schedule_pending[];
  v_inputs json;
  v_options json;
begin
  select array_agg(x.p order by x.name, x.slot_at), json_agg(x.input order by x.name, x.slot_at),
         json_agg(x.job order by x.name, x.slot_at)
    into v_chosen, v_inputs, v_options
    from (select p, s.name, p.slot_at, s.input,
                 s.job - 'deadlineSeconds'
                   || case when s.options -> 'afterFailure' = '"skip"' then '{"maxAttempts": 1}' else '{}'::jsonb end
                   || jsonb_build_object('schedule', s.name, 'slotAt', p.slot_at)
                   || case when p.run_at > v_now then jsonb_build_object('runAt', p.run_at) else '{}' end
                   || case when s.job ? 'deadlineSeconds'
                           then jsonb_build_object('deadline', greatest(coalesce(p.run_at, p.slot_at), v_now)
                                  + make_interval(secs => (s.job ->> 'deadlineSeconds')::float8))
                           else '{}' end as job,
                 row_number() over (partition by p.schedule, p.batch, p.kind = 'manual' order by p.slot_at) as n,
                 p.kind, p.batch, p.concurrency, coalesce(s.options ->> 'overlap', 'queue') as overlap,
                 o.live, o.beside
            from schedule_pending p
            join schedule s on s.name = p.schedule
            cross join lateral (select count(*) filter (where r.batch is null and r.kind <> 'manual') as live,
                                       count(*) filter (where r.batch = p.batch) as beside
                                  from schedule_run r
                                 where r.schedule = p.schedule and r.outcome is null) o
           where p.schedule = any (p_names) and (s.paused_at is null or p.kind = 'manual')) x
   where x.kind = 'manual'
      or x.batch is not null and x.n <= x.concurrency - x.beside
      or x.batch is null and (x.overlap = 'allow' or x.n = 1 and x.live = 0);
  if v_chosen is null then
    return 0;
  end if;
  perform job_enqueue_many(v_inputs, v_options);
  delete from schedule_pending p using unnest(v_chosen) c where p.schedule = c.schedule and p.slot_at = c.slot_at;
  perform queue_notify(array(select distinct coalesce(s.job ->> 'queue', 'default')
                               from unnest(v_chosen) c
                               join schedule s on s.name = c.schedule));
  update schedule_run r set kind = c.kind, batch = c.batch
    from unnest(v_chosen) c
   where c.kind <> 'slot' and r.schedule = c.schedule and r.slot_at = c.slot_at;
  return cardinality(v_chosen);
end $$;

-- runs_open: the open runs of some schedules, by as many looks into the index.
create or replace function runs_open(p_names text[]) returns schedule_run[]
language plpgsql as $$
begin
  return array(select r.run from unnest(p_names) n (name)
                 cross join lateral (select u as run from schedule_run u
                                      where u.schedule = n.name and u.outcome is null
                                      order by u.job_id) r);
end $$;

-- runs_give_way: where the next slot has come, a run that waits to be tried again has had its time; with overlap
-- "cancel" any open one has. Writes: as job_cancel and runs_settle.
create or replace function runs_give_way(p_runs schedule_run[]) returns void
language plpgsql as $$
declare
  v_runs schedule_run[];
begin
  v_runs := array(
    select r from unnest(p_runs) r join schedule s on s.name = r.schedule
     where r.kind in ('slot', 'late') and coalesce(s.options ->> 'overlap', 'queue') <> 'allow'
       and (s.options ->> 'overlap' = 'cancel'
            or exists (select from job_attempt a where a.slot = job_slot(r.job_id) and a.job_id = r.job_id)
              and job_state(r.job_id) = 'delayed'));
  if cardinality(v_runs) > 0 then
    perform job_cancel(array(select r.job_id from unnest(v_runs) r order by 1),
      'the next slot of its schedule has come');
    perform runs_settle(v_runs);
  end if;
end $$;

-- schedules_go_on: schedules_advance for callers who came to do something else. A queue that takes no jobs at the
-- moment is noted in the schedule's error, and holds nobody up. Its slots are tried again with the next one.
create or replace function schedules_go_on(p_names text[]) returns void
language plpgsql as $$
declare
  v_name text;
begin
  perform schedules_advance(p_names);
exception when sqlstate 'MR000' then  -- any refusal of ours
  foreach v_name in array p_names loop
    begin
      perform schedules_advance(array[v_name]);
    exception when sqlstate 'MR000' then
      update schedule_state set error = json_build_object('message', sqlerrm) where schedule = v_name;
    end;
  end loop;
end $$;
