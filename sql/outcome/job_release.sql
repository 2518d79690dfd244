-- job_release: give jobs of a claim back unharmed: the same attempt again, later if asked. Returns the ids not held.
-- Locks: the claim's rows. Writes: claim, ticket or agenda, tally. Raises: MR001, MR002.
create or replace function job_release(p_token uuid, p_jobs bigint[] default null, p_delay_seconds float8 default 0)
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  h claim;
  v_all bigint[] := '{}';
begin
  if not p_delay_seconds between 0 and 1e9 then
    perform raise_error('MR001', format('a delay of %s seconds is not possible', p_delay_seconds), 'give 0 or more');
  end if;
  for h in select * from claim_detach(p_token, p_jobs) loop
    perform claim_return(h, h.jobs, h.attempts, clock_now() + make_interval(secs => p_delay_seconds), false);
    v_all := v_all || h.jobs;
  end loop;
  return array(select id from unnest(p_jobs) id where id not in (select unnest(v_all)));
end $$;

-- claim_return: put jobs of a detached claim part back without using an attempt. Those whose time to start has passed
-- expire. A job that was lost (p_lost), or whose last attempt was, goes back alone, unless the queue says otherwise.
-- The amendment notes the time: nothing else would tell it, and a purge that was made while the jobs ran must not take
-- them.
-- Writes: ticket or agenda, tally, amendment, attempt (expired ones).
create or replace function claim_return(h claim, p_jobs bigint[], p_attempts int[], p_due_at timestamptz,
  p_lost boolean) returns void
language plpgsql as $$
declare
  v_now timestamptz := lane_enter(h.lane);
  v_expired bigint[];
  v_options constant jsonb := (select q.options from lane l join queue q on q.id = l.queue_id where l.key = h.lane);
  v_apart constant boolean := not (h.track is not null and coalesce(v_options ->> 'ordered' = 'batches', false))
    and (v_options -> 'lostAlone') is distinct from 'false';
  g record;
begin
  perform days_check(h.slot);
  update amendment set revived_at = v_now, updated_at = v_now where slot = h.slot and job_id = any (p_jobs);
  insert into amendment (job_id, slot, revived_at, updated_at)
  select id, h.slot, v_now, v_now from unnest(p_jobs) id on conflict do nothing;
  select array_agg(j.id) into v_expired from unnest(p_jobs) u (id) join job j on j.slot = h.slot and j.id = u.id
    left join amendment m on m.slot = h.slot and m.job_id = u.id where coalesce(m.start_by, j.start_by) <= p_due_at;
  if v_expired is not null then
    perform job_expire(h.slot, v_expired);
  end if;
  for g in
    select u.attempt, coalesce(m.version, 0) as version, x.alone, t.track, array_agg(u.id order by u.id) as jobs
      from unnest(p_jobs, p_attempts) u (id, attempt)
      join job j on j.slot = h.slot and j.id = u.id
      left join amendment m on m.slot = h.slot and m.job_id = u.id
     cross join lateral (
       select v_apart and (p_lost or (u.attempt > 1 and exists (
         select from attempt a
          where a.slot = h.slot and a.job_id = u.id and a.attempt = u.attempt - 1 and a.outcome = 'lost'))) as alone) x
     cross join lateral (select group_track(h.lane, j.group_key) as track) t
     where u.id not in (select unnest(v_expired))
     group by u.attempt, coalesce(m.version, 0), x.alone, t.track, case when x.alone then u.id end order by min(u.id)
  loop
    if p_due_at <= v_now and not chained(v_options, g.track <> h.lane) then
      perform tickets_append(h.lane, again_of(g.track), g.jobs, g.attempt, g.version, g.alone);
      insert into tally (lane, ready) values (h.lane, cardinality(g.jobs));
    else
      insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain)
      select id, p_due_at, h.lane, g.track, g.attempt, g.version, g.alone, v_now,
             case when chained(v_options, g.track <> h.lane) then (p_due_at <= v_now)::int end
        from unnest(g.jobs) id;
      if p_due_at > v_now then
        insert into tally (lane, delayed) values (h.lane, cardinality(g.jobs));
      else
        insert into tally (lane, ready) values (h.lane, cardinality(g.jobs));
        if g.track <> h.lane then
          perform line_append(h.lane, array[g.track]);
        end if;
      end if;
    end if;
  end loop;
end $$;
