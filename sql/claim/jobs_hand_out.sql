-- jobs_hand_out: make a claim of jobs that were next on their tracks, all of one ring child, in the order of their ids.
-- The caller has the lane's lock. Void ones are passed over; expired ones end here, on record: nobody would meet them
-- again. Jobs that somebody holds (p_held) are put aside. Those that were shed are dropped. Attempts and versions may
-- be null: all first ones. p_track: the group all of them belong to, where that must be known while they run. Returns
-- the claim (null when nothing is left to claim), how many jobs it holds, and how many bytes.
-- Writes: claim, tally, postponed; amendment and fingerprint of expired ones.
create or replace function jobs_hand_out(o claim_order, p_slot smallint, p_jobs bigint[], p_attempts int[],
  p_versions int[], p_alone boolean, p_held bigint[], p_track bigint) returns claim_taken
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_attempts int[];
  v_token constant uuid := gen_random_uuid();
  v_lease float8;
  v_until timestamptz;
  v_lines job_lines;
  v_left record;
begin
  if o.is_shed then
    v_left := jobs_not_shed(o.lane, p_jobs, p_attempts, p_versions);
    p_jobs := v_left.jobs; p_attempts := v_left.attempts; p_versions := v_left.versions;
    if p_jobs is null then
      return (null, 0, 0, null, null)::claim_taken;
    end if;
  end if;
  v_attempts := p_attempts;
  if p_held = '{}' then
    v_lines := job_lines_read(p_slot, p_jobs);
  end if;
  -- The common case: nothing held, nothing amended, nothing expired.
  if (p_held = '{}' and not v_lines.amended and (v_lines.start_by > v_now) is not false
      and cardinality(v_lines.ids) = cardinality(p_jobs)) is not true then
    v_left := jobs_sift(o, p_slot, p_jobs, p_attempts, p_versions, p_alone, p_held, v_now);
    v_lines := v_left.lines; v_attempts := v_left.attempts;
    if v_lines.ids is null then
      return (null, 0, 0, null, null)::claim_taken;
    end if;
  end if;

  v_lease := o.lease;
  if o.lease_factor is not null then
    v_lease := least(o.lease * exp(least((coalesce(v_attempts[1], 1) - 1) * ln(o.lease_factor), 60)),
      coalesce(o.lease_cap, 43200));
  end if;
  v_until := v_now + seconds(v_lease);
  if v_attempts = array_fill(1, array[cardinality(v_lines.ids)]) then
    v_attempts := null;
  end if;
  with counted as (insert into tally (lane, ready) values (o.lane, -cardinality(v_lines.ids)))
  insert into claim (token, lane, slot, worker, jobs, attempts, unstarted, deadline, started_at, touched_at, until,
    track, linked)
  values (v_token, o.lane, p_slot, o.worker, v_lines.ids, v_attempts,
          case when o.track_start and not p_alone then v_lines.ids end, v_lines.deadline, v_now, v_now, v_until,
          p_track, coalesce(v_lines.linked, false));
  return (claim_told(v_token, o.about, v_now, v_until, p_alone, v_lines.max_attempts, v_attempts, v_lines.ids,
    v_lines.extras, v_lines.inputs), cardinality(v_lines.ids), v_lines.bytes, null, null)::claim_taken;
end $$;

-- jobs_sift: of jobs among which some are held, amended, expired or gone, those that can be handed out, as they are
-- now. Held ones are put aside, expired ones end. Writes: postponed, tally, amendment, fingerprint.
create or replace function jobs_sift(o claim_order, p_slot smallint, p_jobs bigint[], p_attempts int[],
  p_versions int[], p_alone boolean, p_held bigint[], p_now timestamptz, out lines job_lines, out attempts int[])
language plpgsql as $$
declare
  v_expired bigint[];
begin
  select array_agg(u.id) filter (where l.alive), array_agg(coalesce(u.attempt, 1)) filter (where l.alive),
         string_agg(coalesce(l.input::text, 'null'), ',') filter (where l.alive),
         coalesce(sum(octet_length(l.input::text)) filter (where l.alive), 0),
         '[' || string_agg(l.max_attempts::text, ',') filter (where l.alive) || ']',
         min(l.deadline) filter (where l.alive),
         string_agg(case when l.tagged then extras_text(l.extras, l.headers, l.source) else 'null' end, ',')
           filter (where l.alive), bool_or(l.linked),
         array_agg(u.id) filter (where l.expired)
    into lines.ids, attempts, lines.inputs, lines.bytes, lines.max_attempts, lines.deadline, lines.extras, lines.linked,
         v_expired
    from unnest(p_jobs, p_attempts, p_versions) u (id, attempt, version)
    join lateral (
      select not x.void and not x.late and u.id <> all (p_held) as alive,
             not x.void and x.late and u.id <> all (p_held) as expired,
             case when m.replaced then m.input else j.input end as input,
             coalesce(m.max_attempts, j.max_attempts) as max_attempts, coalesce(m.deadline, j.deadline) as deadline,
             j.tagged or m.replaced or m.deadline is not null as tagged,
             case when m.deadline is not null then btrim((('{' || j.extras || '}')::jsonb
               || jsonb_build_object('deadline', m.deadline))::text, '{}') else j.extras end as extras,
             case when m.replaced then m.headers else j.headers end as headers, j.source,
             j.linked or coalesce(m.linked, false) as linked
        from job_line j
        left join amendment m on m.slot = p_slot and m.job_id = u.id
        cross join lateral (select coalesce(coalesce(u.version, 0) < m.version, false) as void,
                                   coalesce(coalesce(m.start_by, j.start_by) <= p_now, false) as late) x
       where j.slot = p_slot and j.id = u.id) l on true;
  if p_held <> '{}' then
    insert into postponed (job_id, lane, track, attempt, version, alone)
    select u.id, o.lane, group_track(o.lane, j.group_key), coalesce(u.attempt, 1), coalesce(u.version, 0), p_alone
      from unnest(p_jobs, p_attempts, p_versions) u (id, attempt, version)
      join job j on j.slot = p_slot and j.id = u.id
     where u.id = any (p_held);
  end if;
  if v_expired is not null then
    insert into tally (lane, ready) values (o.lane, -job_expire(p_slot, v_expired));
  end if;
end $$;

-- jobs_not_shed: jobs without those that a shedding dropped, which leave the count here. Writes: tally.
create or replace function jobs_not_shed(p_lane bigint, p_jobs bigint[], p_attempts int[], p_versions int[],
  out jobs bigint[], out attempts int[], out versions int[])
language plpgsql as $$
declare
  v_dropped constant bigint[] := jobs_dropped(p_lane, p_jobs);
begin
  jobs := p_jobs; attempts := p_attempts; versions := p_versions;
  if v_dropped <> '{}' then
    perform jobs_uncount(p_lane, array_agg(u.id), array_agg(u.version))
       from unnest(p_jobs, p_versions) u (id, version) where u.id = any (v_dropped);
    select array_agg(u.id order by u.i), array_agg(coalesce(u.attempt, 1) order by u.i),
           array_agg(coalesce(u.version, 0) order by u.i)
      into jobs, attempts, versions
      from unnest(p_jobs, p_attempts, p_versions) with ordinality u (id, attempt, version, i)
     where u.id <> all (v_dropped);
  end if;
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
