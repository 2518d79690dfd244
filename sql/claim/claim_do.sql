-- claim_do: a claim from its request to its answer: see that the request is sound, try the express way, prepare, take
-- from lanes, answer. As job_claim_json says. p_may_wait: this transaction has no lane yet, so that it may wait for
-- one. p_express: the express way was not tried yet.
create or replace function claim_do(r claim_request, p_async boolean, p_may_wait boolean, p_express boolean)
  returns json
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_may_wait boolean := p_may_wait and pg_current_xact_id_if_assigned() is null;
  v_server text := current_setting('millrace.server', true);
  v_asked text;
  v_told text;
  v_lanes lane_candidate[];
  w claim_scene;
  p claim_progress;
begin
  -- In one expression, because each costs; what is wrong is told by the check.
  if (r."limit" between 1 and 10000 and coalesce(length(r.worker), 0) <= bound('nameLength')
      and coalesce(r."groupLimit", 1) >= 1 and coalesce(r."leaseSeconds", 1) between 0.001 and 1e9
      and coalesce(r."leaseFactor", 1) between 1 and 1e9 and coalesce(r."leaseCapSeconds", 1) between 0.001 and 1e9
      and r."maxBytes" > 0) is not true then
    perform claim_check(r);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform isolation_check('a claim');
  end if;
  if coalesce(v_server, '') = '' then
    v_server := server_known();
  end if;
  if p_async and set_config('synchronous_commit', 'off', true) is null then
    return null;  -- never: an expression costs less than a statement
  end if;

  if (r."limit" <= 10 or p_async) and r."leaseFactor" is null and r."leaseCapSeconds" is null then
    v_asked := express_asked(r.queues, r.types, r."limit", v_server);
    if p_express then
      v_told := claim_express(v_asked, r."limit", r.worker, r."leaseSeconds", r."maxBytes", r."trackStart",
        v_may_wait);
      if v_told <> '' then
        return ('[' || v_told || ']')::json;
      end if;
      v_may_wait := v_may_wait and v_told is null;  -- who has a lane waits for nothing that comes before lanes
    end if;
  end if;

  w := claim_prepare(r.queues, v_may_wait, p_async, v_server);
  p := (null, r."limit", r."maxBytes", null, null, 0, false, false, false, null)::claim_progress;
  for v_pass in 1 .. 20 loop  -- two, but for crowded queues
    v_lanes := lane_candidates(w, r.types);
    p.stop := p.stop or v_lanes is null;
    p := lanes_take(p, r, w, v_lanes);
    -- Only busy lanes had work: wait for one, but never against the order of keys.
    if p.room = r."limit" and v_pass = 1 and w.may_wait and lane_await(p) then
      continue;
    end if;
    if p.room = r."limit" and lanes_set_aside(v_lanes) then
      w.has_asides := true;  -- all there was has just been set aside: look again, or let the caller do it
      p.stop := v_pass >= 2;
      continue;
    end if;
    -- these had nothing after all: others
    continue when w.is_crowded and p.room = r."limit" and v_lanes <> '{}' and not p.stop;
    exit when p.room < r."limit" or p.stop or v_pass >= 2;
    if v_asked is not null and p_async and r."limit" = 1 and exists (select from spare) then
      -- what others have left meanwhile; returned, it would cost each claim much more
      v_told := claim_express(v_asked, r."limit", r.worker, r."leaseSeconds", r."maxBytes", r."trackStart", false);
      if v_told <> '' then
        return ('[' || v_told || ']')::json;
      end if;
    end if;
    exit when claim_reap(100, case when not p_async then lanes_of(w.queue_ids) end) = 0
      and (not exists (select from spare) or spares_return(spares_of(w.queue_ids)) = 0)
      and (not exists (select from lane where rest_xid is not null and not is_asleep) or lanes_settle(100) = 0);
  end loop;

  if p_async and v_asked is not null and p.room < r."limit" then
    perform express_learn(v_asked, w.queue_ids[1], r.types);
  end if;
  -- where a queue is crowded, other lanes may have more
  p.stop := p.stop or w.is_crowded and p.room > 0 and v_lanes <> '{}'
    and (p.room < r."limit" or not p.is_limited and p.busy is null);
  return claim_answer(p, w.is_unborn);
end $$;

-- claim_check: say what is wrong with what a claim asks for. Raises: MR001, MR004.
create or replace function claim_check(r claim_request) returns void
language plpgsql as $$
begin
  if r."limit" is null or r."limit" not between 1 and 10000 then
    perform raise_error('MR001', format('a claim takes 1 to 10000 jobs, not %s', r."limit"), null);
  elsif length(r.worker) > bound('nameLength') then
    perform name_check('worker', r.worker);
  elsif r."groupLimit" < 1 then
    perform raise_error('MR001', format('a claim takes at least 1 job of a group, not %s', r."groupLimit"), null);
  elsif not r."leaseSeconds" between 0.001 and 1e9 or not r."leaseFactor" between 1 and 1e9
    or not r."leaseCapSeconds" between 0.001 and 1e9 or r."maxBytes" <= 0 then
    perform raise_error('MR001', 'lease and bytes must be above 0, the factor at least 1', null);
  end if;
end $$;

-- claim_prepare: what a claim does before it looks at lanes: find new lanes, let go of jobs that nobody holds any more,
-- promote what is due, wake groups, reap lost claims; and what it must know about the queues. Inside of somebody's
-- transaction it does so for its own queues only, because nobody else sees it until the end. p_server: where this
-- session is (server_known). Raises: MR003, MR006.
create or replace function claim_prepare(p_queues text[], p_may_wait boolean, p_async boolean, p_server text)
  returns claim_scene
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  w claim_scene;
  v_home bigint;
  v_lanes bigint[];
  v_scouts boolean; v_postponed boolean; v_due boolean; v_snoozed boolean; v_lost boolean;
begin
  -- Of claims a look at the first pages, where they live, so that lost ones are claimed in their turn; at all of them
  -- when nothing else was found.
  select array_agg(coalesce(q.id, raise_error('MR003', format('there is no queue "%s"', n.name),
           'create it with queue_put(name)')::int)),
         max(c.server_id), (array_agg(c.options))[1], exists (select from scout), exists (select from postponed),
         exists (select from agenda where due_at <= v_now and (chain = 1) is not true),
         exists (select from snooze where due_at <= v_now),
         exists (select from claim k where k.ctid < '(4,0)'::tid and k.until <= v_now), exists (select from aside),
         exists (select from lane_purge where is_open),
         coalesce(bool_or(exists (select from lane k where k.queue_id = q.id and k.rest_xid is null
           offset crowd_from())), false)
    into w.queue_ids, v_home, w.cell, v_scouts, v_postponed, v_due, v_snoozed, v_lost, w.has_asides, w.has_sheds,
         w.is_crowded
    from cell c cross join unnest(p_queues) n (name) left join queue q on q.name = n.name;
  if p_server is distinct from v_home::text then
    perform cell_at_home(v_home);
  end if;
  w.is_unborn := false;
  w.may_wait := p_may_wait and not (v_postponed or v_due or v_snoozed or v_lost);
  if v_scouts then
    perform lanes_find(w.queue_ids, p_may_wait, p_async);
    -- somebody else has them in hand, or there are very many
    w.is_unborn := exists (select from scout s where s.queue_id = any (w.queue_ids));
  end if;
  if not p_async and (v_postponed or v_due or v_snoozed or v_lost) then
    v_lanes := lanes_of(w.queue_ids);
  end if;
  if v_postponed then
    perform postponed_return(v_lanes);
  end if;
  if v_due then
    perform agenda_promote(1000, v_lanes);
  end if;
  if v_snoozed then
    perform groups_wake(v_lanes);
  end if;
  if v_lost then
    perform claim_reap(100, v_lanes);
  end if;
  return w;
end $$;

-- lanes_of: the lanes of these queues, those too that nobody has made yet.
create or replace function lanes_of(p_queue_ids int[]) returns bigint[]
language sql stable as $$
  select array(select key from lane_known where queue_id = any (p_queue_ids))
$$;

-- lanes_find: make lanes of scouts. A claim that may wait does so for others who make lanes of its queues, but only for
-- a moment: they may be in a transaction that stays open. And what a claim makes inside of somebody's transaction
-- nobody else sees until its end: there it makes no lanes of other queues.
create or replace function lanes_find(p_queue_ids int[], p_may_wait boolean, p_async boolean) returns void
language plpgsql as $$
declare
  v_timeout constant text := current_setting('lock_timeout');
begin
  if p_may_wait then
    begin
      perform set_config('lock_timeout', '100ms', true);
      perform lane_discover(p_queue_ids, 1000);
      perform set_config('lock_timeout', v_timeout, true);
      return;
    exception when lock_not_available then
      null;
    end;
  end if;
  perform lane_discover(case when not p_async then p_queue_ids end, 1000, false);
end $$;

-- lane_await: wait for the first of the lanes that were busy, if that is in the order of keys. Returns whether it did.
-- Locks: the lane.
create or replace function lane_await(p claim_progress) returns boolean
language plpgsql as $$
declare
  v_busy constant bigint := (select min(x) from unnest(p.busy) x where p.held is null or x > p.held);
begin
  if v_busy is null then
    return false;
  end if;
  perform pg_advisory_xact_lock(lane_lock(v_busy));
  return true;
end $$;

-- claim_answer: what a claim says in the end: its claims, and why it has fewer than were wanted.
create or replace function claim_answer(p claim_progress, p_unborn boolean) returns json
language plpgsql as $$
declare
  v_busy constant boolean := p.busy is not null or p_unborn;
begin
  if p.room > 0 and p.is_rated then
    p.wait := least(p.wait, (select date_part('epoch', min(due_at) - clock_now()) from snooze));
  end if;
  if p.room > 0 and (p.stop or v_busy or p.is_limited or p.wait is not null) then
    p.told := coalesce(p.told || ',', '') || jsonb_strip_nulls(jsonb_build_object('more', p.stop, 'busy', v_busy,
      'limited', p.is_limited, 'waitSeconds', case when p.wait is not null then greatest(p.wait, 0) end));
  end if;
  return ('[' || coalesce(p.told, '') || ']')::json;
end $$;
