-- job_claim_json: claim jobs for a worker; the driver's form of job_claim. Returns an array of claims, one per lane and
-- ring child, and {"more", "busy", "limited", "waitSeconds"} as its last element when it holds fewer than asked for
-- although there may be more: what comes next did not fit (bytes, or a job that is claimed alone), lanes were in
-- somebody else's hands, or at a limit, and when the first rate allows for more. Claims under a limit have a "fence", a
-- number higher than that of all claims before it under the same limit. Lanes go by priority, then by the age of their
-- oldest job; what was set aside of them goes last. Jobs that came due are promoted first; lost claims are reaped when
-- nothing else is found. p_group_limit: at most so many of one group in ordered batches. p_async lets the commit be
-- asynchronous: only for a transaction that does nothing else.
-- Locks: lanes (busy ones are skipped; a transaction that has written nothing yet waits for one at most, in key order),
-- limits (lane_room).
-- Writes: lane_cursor, claim, attempt, tally, ticket. Raises: MR001, MR003, MR006, MR007.
create or replace function job_claim_json(
  p_queues text[] default '{default}', p_types text[] default null, p_limit int default 1, p_worker text default null,
  p_lease_seconds float8 default null, p_lease_factor float8 default null, p_lease_cap_seconds float8 default null,
  p_max_bytes bigint default 67108864, p_track_start boolean default false, p_async boolean default false,
    p_group_limit int default null) returns json
language plpgsql security definer set search_path from current set jit = off
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare
  v_result text;
  v_room int := p_limit;
  v_bytes bigint := p_max_bytes;
  v_queue_ids int[];
  v_locked bigint[];
  v_held bigint;
  v_key bigint;
  v_busy bigint;
  v_set text;
  v_asked text;
  v_most int;
  v_flagged boolean;
  v_may_wait boolean := pg_current_xact_id_if_assigned() is null;  -- what has written may hold what others wait for
  v_cell jsonb;
  v_stop boolean := false;
  v_idle int := 0;  -- turns that brought nothing, one after another; the caller asks again
  v_limited boolean := false;
  v_rated boolean := false;  -- groups may have been passed over for want of tokens
  v_scouts boolean;
  v_postponed boolean;
  v_due boolean;
  v_snoozed boolean;
  v_lost boolean;
  v_aside boolean;
  v_sheds boolean; v_shed boolean;
  v_crowded boolean;
  v_unborn boolean := false;
  v_now timestamptz := clock_now();
  v_about text;
  v_wait float8;
  v_lanes lane_candidate[];
  l lane_candidate;
  f record;
  t record;
begin
  -- In one expression, because each costs; what is wrong is told by the check.
  if (p_limit between 1 and 10000 and coalesce(length(p_worker), 0) <= bound('nameLength')
      and coalesce(p_group_limit, 1) >= 1 and coalesce(p_lease_seconds, 1) between 0.001 and 1e9
      and coalesce(p_lease_factor, 1) between 1 and 1e9 and coalesce(p_lease_cap_seconds, 1) between 0.001 and 1e9
      and p_max_bytes > 0) is not true then
    perform claim_check(p_limit, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap_seconds, p_max_bytes,
      p_group_limit);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform isolation_check('a claim');
  end if;
  if current_setting('millrace.at_home', true) is distinct from current_schema() then
    perform cell_at_home();
  end if;
  if p_async then
    v_set := set_config('synchronous_commit', 'off', true);
  end if;
  if v_may_wait and (p_limit <= 10 or p_async) and p_lease_factor is null and p_lease_cap_seconds is null then
    v_asked := express_asked(p_queues, p_types, p_limit);
    v_result := claim_express(v_asked, p_limit, p_worker, p_lease_seconds, p_max_bytes, p_track_start);
    if v_result is not null then
      return ('[' || v_result || ']')::json;
    end if;
  end if;
  -- Of claims a look at the first pages, where they live, so that lost ones are claimed in their turn; at all of them
  -- when nothing else was found.
  select array_agg(coalesce(q.id, raise_error('MR003', format('there is no queue "%s"', n.name),
    'create it with queue_put(name)')::int)),
         (select options from cell), exists (select from scout), exists (select from postponed),
           exists (select from agenda where due_at <= v_now and (chain = 1) is not true),
           exists (select from snooze where due_at <= v_now),
         exists (select from claim k where k.ctid < '(4,0)'::tid and k.until <= v_now), exists (select from aside),
           exists (select from lane_purge where is_open),
         coalesce(bool_or(exists (select from lane k where k.queue_id = q.id
           and k.rest_xid is null offset crowd_from())), false)
    into v_queue_ids, v_cell, v_scouts, v_postponed, v_due, v_snoozed, v_lost, v_aside, v_sheds, v_crowded
    from unnest(p_queues) n (name) left join queue q on q.name = n.name;
  if v_scouts then
    perform lane_discover(case when v_may_wait then v_queue_ids end, 1000);
    -- somebody else has them in hand, or there are very many
    v_unborn := exists (select from scout s where s.queue_id = any (v_queue_ids));
  end if;
  if v_postponed then
    perform postponed_return();
    v_may_wait := false;
  end if;
  if v_due then
    perform agenda_promote(1000);
    v_may_wait := false;
  end if;
  if v_snoozed then
    perform groups_wake();
    v_may_wait := false;
  end if;
  if v_lost then
    perform claim_reap(100);
    v_may_wait := false;
  end if;

  for v_pass in 1 .. 20 loop  -- two, but for crowded queues
    v_lanes := lane_candidates(v_queue_ids, p_types, v_cell, v_aside, v_crowded);
    v_stop := v_stop or v_lanes is null;
    foreach l in array coalesce(v_lanes, '{}') loop
      v_key := fresh_of(l.key);
      if not pg_try_advisory_xact_lock(lane_lock(v_key)) then
        v_locked := v_locked || v_key;
        continue;
      end if;
      v_held := greatest(v_held, v_key);
      v_most := v_room;
      v_about := l.about;
      if l.limits is not null then
        f := lane_room(v_key, l.limits, v_room);
        v_most := f.room;
        v_wait := least(v_wait, f.wait);
        if v_most is null then
          v_locked := v_locked || v_key;
        end if;
        v_limited := v_limited or v_most < v_room;
        continue when v_most is null or v_most = 0;
      end if;
      v_rated := v_rated or coalesce(l.grouping ?| '{rate,own}', false);
      if l.grouping ?| '{most,ordered,rate,own}' and not pg_try_advisory_xact_lock(queue_limit((l.grouping
        ->> 'queue')::int)) then
        v_locked := v_locked || v_key;
        continue;
      end if;
      if l.limits is not null or l.grouping ? 'ordered' then
        v_about := v_about || ',"fence":' || nextval('ticket_id_seq');
      end if;
      v_flagged := not pg_try_advisory_xact_lock(lane_flag(v_key));
      v_shed := false;
      if v_sheds then
        t := lane_shed(v_key);
        v_shed := t.is_open;
        v_stop := t.more;
      end if;
      loop
        if l.grouping is null or l.key <> v_key then
          t := lane_take(v_key, v_about, v_most, v_bytes, p_worker, coalesce(p_lease_seconds, l.lease),
            coalesce(p_lease_factor, l.lease_factor),
                         coalesce(p_lease_cap_seconds, l.lease_cap), p_track_start, v_room = p_limit, v_flagged, v_shed,
                           l.key <> v_key, l.freshness, coalesce(l.limits @? '$[*].serial', false), l.heavy);
        else
          t := turns_take(v_key, case when p_group_limit is null then l.grouping
            else l.grouping || jsonb_build_object('limit', p_group_limit) end, v_about, v_most, v_bytes, p_worker,
            coalesce(p_lease_seconds, l.lease), coalesce(p_lease_factor, l.lease_factor),
                          coalesce(p_lease_cap_seconds, l.lease_cap), p_track_start, v_room = p_limit, v_flagged,
                            v_shed);
        end if;
        if t.claimed is not null then
          v_result := coalesce(v_result || ',', '') || t.claimed;
        end if;
        if t.jobs > 0 and l.limits @? '$[*].rate' then
          perform buckets_spend(array_agg(x.lock), array_agg(x.rate), array_agg(x.units * t.jobs))
             from jsonb_to_recordset(l.limits) as x (lock bigint, units int, rate jsonb) where x.rate is not null;
        end if;
        v_idle := case when t.jobs > 0 then 0 else v_idle + 1 end;
        v_room := v_room - t.jobs;
        v_most := v_most - t.jobs;
        v_bytes := greatest(v_bytes - t.bytes, 1);
        -- whose turn it is must be asked again
        v_stop := v_stop and t.jobs = 0 or t.stop or v_idle = 50
          or (t.jobs = 0 and t.more and l.limits @? '$[*].serial');
        exit when v_most <= 0 or not t.more or v_stop;
      end loop;
      exit when v_room <= 0 or v_stop;
    end loop;
    -- only busy lanes had work: wait for one, but never against the order of keys
    if v_room = p_limit and v_pass = 1 and v_may_wait then
      v_busy := (select min(x) from unnest(v_locked) x where v_held is null or x > v_held);
      if v_busy is not null then
        perform pg_advisory_xact_lock(lane_lock(v_busy));
        continue;
      end if;
    end if;
    if v_room = p_limit and lanes_set_aside(v_lanes) then
      v_aside := true;  -- all there was has just been set aside: look again, or let the caller do it
      v_stop := v_pass >= 2;
      continue;
    end if;
    -- these had nothing after all: others
    continue when v_crowded and v_room = p_limit and v_lanes <> '{}' and not v_stop;
    exit when v_room < p_limit or v_stop or v_pass >= 2;
    exit when claim_reap(100) = 0 and (not exists (select from lane where rest_xid is not null and not is_asleep)
      or lanes_settle(100) = 0);
  end loop;
  if p_async and v_asked is not null and v_room < p_limit then
    perform express_learn(v_asked, v_queue_ids[1], p_types);
  end if;
  -- other lanes may have more
  v_stop := v_stop or v_crowded and v_room > 0 and v_lanes <> '{}'
    and (v_room < p_limit or not v_limited and v_locked is null);
  if v_room > 0 and v_rated then
    v_wait := least(v_wait, (select date_part('epoch', min(due_at) - clock_now()) from snooze));
  end if;
  if v_room > 0 and (v_stop or v_locked is not null or v_unborn or v_limited or v_wait is not null) then
    v_result := coalesce(v_result || ',', '') || jsonb_strip_nulls(jsonb_build_object('more', v_stop, 'busy',
      v_locked is not null or v_unborn, 'limited', v_limited, 'waitSeconds',
      case when v_wait is not null then greatest(v_wait, 0) end));
  end if;
  return ('[' || coalesce(v_result, '') || ']')::json;
end $$;

-- claim_check: say what is wrong with what a claim asks for. Raises: MR001, MR004.
create or replace function claim_check(p_limit int, p_worker text, p_lease_seconds float8, p_lease_factor float8,
  p_lease_cap_seconds float8, p_max_bytes bigint, p_group_limit int) returns void
language plpgsql as $$
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a claim takes 1 to 10000 jobs, not %s', p_limit), null);
  elsif length(p_worker) > bound('nameLength') then
    perform name_check('worker', p_worker);
  elsif p_group_limit < 1 then
    perform raise_error('MR001', format('a claim takes at least 1 job of a group, not %s', p_group_limit), null);
  elsif not p_lease_seconds between 0.001 and 1e9 or not p_lease_factor between 1 and 1e9
    or not p_lease_cap_seconds between 0.001 and 1e9 or p_max_bytes <= 0 then
    perform raise_error('MR001', 'lease and bytes must be above 0, the factor at least 1', null);
  end if;
end $$;
