-- job_rotate: give back the space of jobs whose retention has passed, one ring child (a day of jobs) at a time. Few
-- survivors are put back into the truncated child in the same transaction; with many, the rest is deleted in batches
-- and the child truncated when they have gone. Nothing that is not final is ever dropped. Any process may call it. A
-- child whose ended jobs somebody is giving another life is left for later (ring_pin). One child per call. Returns 1
-- when a child was worked on, else 0. Retention is counted from the finish; see docs/options.md for the defaults.
create or replace function job_rotate() returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '200ms' as $$
declare
  v_now timestamptz := clock_now();
  v_today bigint := job_id_at(v_now) / 353894400000000;
  v_end timestamptz;
  v_shortest interval;
  r ring;
begin
  perform isolation_check('maintenance');
  select least(min(retention_of(s::text)), retention_of('attempts'), retention_of('results')) into v_shortest
    from unnest(enum_range(null::job_final_state)) s;
  for r in select * from ring order by slot for update skip locked loop
    -- the end of the newest day that lives in this child
    v_end := job_created_at((v_today - (v_today - r.slot) % 32 + 1) * 353894400000000);
    begin  -- even a look into a child waits for somebody who empties one
      if v_now < v_end + v_shortest then
        -- too young to be emptied; what is left of the last time round the ring goes one by one
        continue when r.rotated_at > v_now - interval '12 hours'
          or not exists (select from job j where j.slot = r.slot and j.id < job_id_at(v_end - interval '1 day'));
        continue when not pg_try_advisory_xact_lock(ring_pin(r.slot));
        perform ring_delete(r.slot, v_now);
        update ring set rotated_at = v_now where slot = r.slot;
        return 1;
      end if;
      continue when r.rotated_at >= v_end + v_shortest
        and (r.survivors = 0 or r.rotated_at > v_now - interval '12 hours');
      continue when r.survivors = 0 and not exists (select from job j where j.slot = r.slot);
      continue when not pg_try_advisory_xact_lock(ring_pin(r.slot));
      perform ring_rotate(r.slot, v_now);
      return 1;
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end loop;
  return 0;
end $$;

-- retention_of: how long finished jobs of a state, attempt records or results are kept.
create or replace function retention_of(p_what text) returns interval
language plpgsql stable as $$
begin
  return (select make_interval(secs => coalesce(
    (c.options ->> ('retention' || initcap(p_what) || 'Seconds'))::float8,
    case p_what
      when 'failed' then 30 * 86400
      when 'expired' then 30 * 86400
      when 'succeeded' then 7 * 86400
      when 'cancelled' then 7 * 86400
      else 365 * 86400 end)) from cell c);
end $$;

-- retentions, kept_for: the retention of each final state, read once and looked up for every job.
create or replace function retentions() returns interval[]
language plpgsql stable as $$
begin
  return array[retention_of('succeeded'), retention_of('failed'), retention_of('expired'), retention_of('cancelled')];
end $$;

create or replace function kept_for(p_kept interval[], p_state job_final_state) returns interval
language sql immutable parallel safe as $$
  select p_kept[case p_state when 'succeeded' then 1 when 'failed' then 2 when 'expired' then 3 else 4 end]
$$;

-- jobs_keep: the jobs of a ring child that must stay, at most p_limit of them.
create or replace function jobs_keep(p_slot smallint, p_now timestamptz, p_limit int) returns bigint[]
language plpgsql volatile as $$
declare
  v_kept constant interval[] := retentions();
  -- also when a purge saw them: running jobs go on
  v_running constant bigint[] := array(select unnest(c.jobs) from claim c where c.slot = p_slot);
begin
  return array(
    select j.id from job j
      left join lateral (select a.state, a.attempt, a.finished_at from job_attempt a
                          where a.slot = p_slot and a.job_id = j.id
                          order by a.attempt desc limit 1) last on true
      left join amendment m on m.slot = p_slot and m.job_id = j.id
      left join lateral (select min(p.purged_at) as purged_at, bool_or(p.is_open) as is_open
                           from lane_purge p
                          where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources)) p on true
     where j.slot = p_slot
       and case when j.id = any (v_running) then true
                when m.closed_at is not null then m.closed_at + kept_for(v_kept, m.closed_as) > p_now
                when attempt_is_end(last.state, last.attempt, m.revived_after)
                  then last.finished_at + kept_for(v_kept, last.state) > p_now
                -- what was shed is counted until it is passed
                when p.purged_at + v_kept[4] <= p_now
                  then p.is_open or coalesce(job_purged_at(j, m) + v_kept[4] > p_now, true)
                else true end
     limit p_limit);
end $$;

create or replace function ring_rotate(p_slot smallint, p_now timestamptz) returns void
language plpgsql as $$
declare
  n constant text := lpad(p_slot::text, 2, '0');
  v_attempts_from timestamptz := p_now - retention_of('attempts');
  v_results_from timestamptz := p_now - retention_of('results');
  v_many constant int := 10000;
  v_keep bigint[];
  k_jobs job[]; k_attempts attempt[]; k_amendments amendment[]; k_progress progress[]; k_pieces payload_piece[];
  k_steps step[]; k_edges edge[];
begin
  -- Waits for transactions that have enqueued into it and not committed yet: their jobs would go unseen. Nobody else
  -- writes here, and readers are not in the way. From then on only another life could make an ended job worth keeping,
  -- and the caller has the pin.
  execute format('lock table job_%s in share row exclusive mode', n);
  v_keep := jobs_keep(p_slot, p_now, v_many);
  if cardinality(v_keep) < v_many then
    execute format('lock table job_%1$s, attempt_%1$s, streak_%1$s, amendment_%1$s, progress_%1$s, payload_piece_%1$s, '
      || 'step_%1$s, edge_%1$s in access exclusive mode', n);
    k_jobs := array(select j from job j where j.slot = p_slot and j.id = any (v_keep));
    k_attempts := array(
      select row(a.*)::attempt from job_attempt a
       where a.slot = p_slot
         and a.job_id = any (v_keep)
         and (a.state is not null or a.finished_at > v_attempts_from or attempt_is_last(row(a.*)::attempt)));
    k_amendments := array(select m from amendment m where m.slot = p_slot and m.job_id = any (v_keep));
    k_progress := array(select g from progress g where g.slot = p_slot and g.job_id = any (v_keep));
    k_pieces := array(select y from payload_piece y where y.slot = p_slot and y.job_id = any (v_keep));
    k_steps := array(select t from step t where t.slot = p_slot and t.job_id = any (v_keep));
    k_edges := array(select e from edge e where e.slot = p_slot and e.target = any (v_keep));
    execute format('truncate job_%1$s, attempt_%1$s, streak_%1$s, amendment_%1$s, progress_%1$s, payload_piece_%1$s, '
      || 'step_%1$s, edge_%1$s', n);
    insert into job select (u).* from unnest(k_jobs) u;
    insert into attempt select (u).* from unnest(k_attempts) u;
    insert into amendment select (u).* from unnest(k_amendments) u;
    insert into progress select (u).* from unnest(k_progress) u;
    insert into payload_piece select (u).* from unnest(k_pieces) u;
    insert into step select (u).* from unnest(k_steps) u;
    insert into edge select (u).* from unnest(k_edges) u;
    delete from decision d where job_slot(d.job_id) = p_slot and d.job_id <> all (v_keep);
  else
    perform ring_delete(p_slot, p_now);
  end if;
  update attempt a set result = null where a.slot = p_slot and a.result is not null and a.finished_at <= v_results_from;
  delete from schedule_run s where s.slot_at < p_now - interval '60 days'
    and not exists (select from job j where j.slot = job_slot(s.job_id) and j.id = s.job_id);
  update ring set rotated_at = p_now, survivors = cardinality(v_keep) where slot = p_slot;
end $$;

-- ring_delete: the slow way, for a child that cannot be emptied: delete what has passed its retention, row by row, in
-- bounded batches.
create or replace function ring_delete(p_slot smallint, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_kept constant interval[] := retentions();
  v_running constant bigint[] := array(select unnest(c.jobs) from claim c where c.slot = p_slot);
begin
  with gone as (
    select j.id from job j
      left join lateral (select a.state, a.attempt, a.finished_at from job_attempt a
                          where a.slot = p_slot and a.job_id = j.id
                          order by a.attempt desc limit 1) last on true
      left join amendment m on m.slot = p_slot and m.job_id = j.id
     where j.slot = p_slot
       and j.id <> all (v_running)
       and case when m.closed_at is not null then m.closed_at + kept_for(v_kept, m.closed_as) <= p_now
                when attempt_is_end(last.state, last.attempt, m.revived_after)
                  then last.finished_at + kept_for(v_kept, last.state) <= p_now
                else coalesce(job_purged_at(j, m) + v_kept[4] <= p_now, false)
                     and not exists (select from lane_purge p
                                      where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources)
                                        and p.is_open) end
     limit 100000
  ), a as (delete from attempt x using gone where x.slot = p_slot and x.job_id = gone.id),
     m as (delete from amendment x using gone where x.slot = p_slot and x.job_id = gone.id),
     g as (delete from progress x using gone where x.slot = p_slot and x.job_id = gone.id),
     y as (delete from payload_piece x using gone where x.slot = p_slot and x.job_id = gone.id),
     t as (delete from step x using gone where x.slot = p_slot and x.job_id = gone.id),
     e as (delete from edge x using gone where x.slot = p_slot and x.target = gone.id),
     d as (delete from decision x using gone where x.job_id = gone.id)
  delete from job x using gone where x.slot = p_slot and x.id = gone.id;
  delete from streak s
   where s.slot = p_slot
     and s.finished_at + v_kept[1] <= p_now
     and not exists (select from job j
                      where j.slot = p_slot
                        and j.id between job_at(s.first_place) and job_at(s.first_place + s.length - 1));
  delete from attempt a
   where a.slot = p_slot
     and a.state is null
     and a.finished_at <= p_now - retention_of('attempts')
     and not attempt_is_last(a);
end $$;

-- attempt_is_last: the newest record of a job stays with the job: it tells how often it was tried, and why it failed.
create or replace function attempt_is_last(a attempt) returns boolean
language plpgsql stable as $$
begin
  return not exists (select from attempt n where n.slot = a.slot and n.job_id = a.job_id and n.attempt > a.attempt);
end $$;
