-- jobs_hand_out: make a claim of jobs that were next on their tracks, all of one ring child, in the order of their ids.
-- The caller has the lane's lock. Void ones are passed over; expired ones end here, on record: nobody would meet them
-- again. Jobs that somebody holds (p_held) are put aside. Those that were shed (p_shed: there may be some) are dropped.
-- Attempts and versions may be null: all first ones. p_track: the group all of them belong to, where that must be known
-- while they run. Returns the claim as JSON text (null when nothing is left to claim), how many jobs it holds, and how
-- many bytes.
-- Writes: claim, tally, postponed; amendment and fingerprint of expired ones.
create or replace function jobs_hand_out(
  p_lane bigint, p_about text, p_slot smallint, p_jobs bigint[], p_attempts int[], p_versions int[], p_alone boolean,
    p_worker text,
  p_lease_seconds float8, p_lease_factor float8, p_lease_cap float8, p_track_start boolean, p_held bigint[],
    p_track bigint, p_shed boolean,
  out claimed text, out jobs int, out bytes bigint)
language plpgsql as $$
declare
  v_now timestamptz := clock_now();
  v_attempts int[] := p_attempts;
  v_alive bigint[]; v_inputs text; v_extras text; v_limits text; v_lines job_lines;
  v_deadline timestamptz; v_token uuid; v_until timestamptz; v_lease float8; v_dropped bigint[]; v_expired bigint[];
begin
  if p_shed then
    v_dropped := jobs_dropped(p_lane, p_jobs);
    if v_dropped <> '{}' then
      perform jobs_uncount(p_lane, array_agg(u.id), array_agg(u.version))
        from unnest(p_jobs, p_versions) u (id, version) where u.id = any (v_dropped);
      select array_agg(u.id order by u.i), array_agg(coalesce(u.attempt, 1) order by u.i),
        array_agg(coalesce(u.version, 0) order by u.i) into p_jobs, p_attempts, p_versions
        from unnest(p_jobs, p_attempts, p_versions) with ordinality u (id, attempt, version, i)
          where u.id <> all (v_dropped);
      v_attempts := p_attempts;
      if p_jobs is null then
        jobs := 0; bytes := 0;
        return;
      end if;
    end if;
  end if;
  if p_held = '{}' then
    v_lines := job_lines_read(p_slot, p_jobs);
  end if;
  -- The common case: nothing held, nothing amended, nothing expired.
  if p_held = '{}' and not v_lines.amended and (v_lines.start_by > v_now) is not false
    and cardinality(v_lines.ids) = cardinality(p_jobs) then
    v_alive := v_lines.ids; v_inputs := v_lines.inputs; bytes := v_lines.bytes; v_limits := v_lines.max_attempts;
    v_deadline := v_lines.deadline; v_extras := v_lines.extras;
  else
    select array_agg(u.id) filter (where l.alive), array_agg(coalesce(u.attempt, 1)) filter (where l.alive),
           string_agg(coalesce(l.input::text, 'null'), ',') filter (where l.alive),
             coalesce(sum(octet_length(l.input::text)) filter (where l.alive), 0),
           '[' || string_agg(l.max_attempts::text, ',') filter (where l.alive) || ']', min(l.deadline)
             filter (where l.alive),
           string_agg(case when l.tagged then extras_text(l.extras, l.headers, l.source) else 'null' end, ',')
             filter (where l.alive), array_agg(u.id) filter (where l.expired)
      into v_alive, v_attempts, v_inputs, bytes, v_limits, v_deadline, v_extras, v_expired
      from unnest(p_jobs, p_attempts, p_versions) u (id, attempt, version)
      join lateral (
        select not x.void and not x.late and u.id <> all (p_held) as alive, not x.void and x.late
          and u.id <> all (p_held) as expired, case when m.replaced then m.input else j.input end as input,
               coalesce(m.max_attempts, j.max_attempts) as max_attempts, coalesce(m.deadline, j.deadline) as deadline,
                 j.tagged or m.replaced or m.deadline is not null as tagged,
               case when m.deadline is not null then btrim((('{' || j.extras || '}')::jsonb
                 || jsonb_build_object('deadline', m.deadline))::text, '{}') else j.extras end as extras,
               case when m.replaced then m.headers else j.headers end as headers, j.source
          from job_line j
          left join amendment m on m.slot = p_slot and m.job_id = u.id
          cross join lateral (select coalesce(coalesce(u.version, 0) < m.version, false) as void,
            coalesce(coalesce(m.start_by, j.start_by) <= v_now, false) as late) x
         where j.slot = p_slot and j.id = u.id
      ) l on true;
  end if;

  if p_held <> '{}' then
    insert into postponed (job_id, lane, track, attempt, version, alone)
    select u.id, p_lane, job_track(p_lane, j.group_key, p_alone, p_track is not null), coalesce(u.attempt, 1),
      coalesce(u.version, 0), p_alone
      from unnest(p_jobs, p_attempts, p_versions) u (id, attempt, version) join job j on j.slot = p_slot and j.id = u.id
        where u.id = any (p_held);
  end if;
  if v_expired is not null then
    insert into tally (lane, ready) values (p_lane, -job_expire(p_slot, v_expired));
  end if;
  jobs := coalesce(cardinality(v_alive), 0);
  if jobs = 0 then
    return;
  end if;
  v_token := gen_random_uuid();
  v_lease := p_lease_seconds;
  if p_lease_factor is not null then
    v_lease := least(p_lease_seconds * exp(least((coalesce(v_attempts[1], 1) - 1) * ln(p_lease_factor), 60)),
      coalesce(p_lease_cap, 43200));
  end if;
  v_until := v_now + seconds(v_lease);
  if v_attempts is null or v_attempts = array_fill(1, array[jobs]) then
    v_attempts := null;
  end if;
  with counted as (insert into tally (lane, ready) values (p_lane, -jobs))
  insert into claim (token, lane, slot, worker, jobs, attempts, unstarted, deadline, started_at, touched_at, until,
    track)
  values (v_token, p_lane, p_slot, p_worker, v_alive, v_attempts,
          case when p_track_start and not p_alone then v_alive end, v_deadline, v_now, v_now, v_until, p_track);
  claimed := claim_told(v_token, p_about, v_now, v_until, p_alone, v_limits, v_attempts, v_alive, v_extras, v_inputs);
end $$;

-- claim_token: the token of a claim as it is told.
create or replace function claim_token(p_claimed text) returns uuid
language sql immutable parallel safe as $$ select substr(p_claimed, 11, 36)::uuid $$;

-- claim_told: a claim as a worker is told of it. p_limits, p_extras, p_inputs: JSON, or members of a list of it. The
-- token comes first (claim_token).
create or replace function claim_told(p_token uuid, p_about text, p_now timestamptz, p_until timestamptz,
  p_alone boolean, p_limits text, p_attempts int[], p_jobs bigint[], p_extras text, p_inputs text) returns text
language sql stable parallel safe as $$
  select '{"token":"' || p_token || '",' || p_about || ',"claimedAt":' || to_json(p_now)
    || ',"leaseEndsAt":' || to_json(p_until) || case when p_alone then ',"alone":true' else '' end
    || ',"maxAttempts":' || p_limits || coalesce(',"attempts":[' || array_to_string(p_attempts, ',') || ']', '')
    || ',"ids":["' || array_to_string(p_jobs, '","') || '"]' || coalesce(',"extras":[' || p_extras || ']', '')
    || ',"inputs":[' || p_inputs || ']}'
$$;
