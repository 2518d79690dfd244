-- claim_express: the claim of the common case, in four statements: of few lanes that nothing limits, the one that is
-- next (express_pick), whose next ticket has all that is wanted, or all there is. Empty when anything is otherwise:
-- then the general way goes, with the lane in its hands, and nothing else was done. Null when it is not known which
-- lane that would be. It keeps the rules of track_read and track_advance (README.md, the cursor), with what makes them
-- simple: the number of this transaction, if it has one yet, is above all it takes; the head and the newest transaction
-- are in one ring child; and no late transaction has ended. Where others have the lane, it takes what they left for it,
-- or waits for that (spare_await); where others wait for it, it leaves something for them.
-- p_asked: what express_lane was learned for (express_asked). p_may_wait: nothing was written yet, so that it may wait
-- for the lane. Locks: the lane, and its flag; or the lane's spares, shared.
-- Writes: lane_cursor, claim, tally, spare.
create or replace function claim_express(p_asked text, p_wanted int, p_worker text, p_lease float8, p_max_bytes bigint,
  p_track_start boolean, p_may_wait boolean) returns text
language plpgsql as $$
declare
  v_lane bigint; v_about text; v_lease float8; v_epoch numeric; v_only boolean; v_told text;
  v_crowd boolean := false;
  v_seq bigint; v_uses int; v_head_xid bigint; v_head_ticket bigint; v_head_offset int; v_left int;
  v_late late_place[];
  v_xid bigint; v_ticket bigint; v_offset int; v_jobs bigint[]; v_rest bigint[]; v_bytes int;
  v_snapshot pg_snapshot; v_plain boolean;
  v_lines job_lines;
  v_now timestamptz; v_until timestamptz; v_slot smallint;
  v_token constant uuid := gen_random_uuid();
begin
  select x.lanes[p.n], x.abouts[p.n], coalesce(p_lease, x.leases[p.n]), x.epoch, cardinality(x.lanes) = 1
    into v_lane, v_about, v_lease, v_epoch, v_only
    from express_lane x
    cross join lateral (select case cardinality(x.lanes) when 1 then 1
                                    else express_pick(x.lanes, x.priorities, p_wanted) end as n
                          offset 0) p  -- once, not for each column
   where x.asked = p_asked;
  -- The lane is ours, and nobody holds a job of it. (As expressions, which cost less than statements.)
  if v_lane is null then
    return null;
  elsif not pg_try_advisory_xact_lock(lane_lock(v_lane)) then
    v_told := spare_await(v_lane, v_epoch, v_about, p_wanted, p_worker, v_lease, p_max_bytes, p_track_start,
      p_may_wait and v_only);  -- while one lane is busy, another may have something
    if v_told <> '' or v_told is null then
      return v_told;
    end if;
    v_crowd := true;
  end if;
  if not pg_try_advisory_xact_lock(lane_flag(v_lane)) then
    return '';
  end if;
  select seq, uses, head_xid, head_ticket, head_offset, late, credit
    into v_seq, v_uses, v_head_xid, v_head_ticket, v_head_offset, v_late, v_left
    from lane_cursor where track = v_lane order by seq desc limit 1;
  if v_left > 0 and p_wanted = 1 and pg_try_advisory_xact_lock_shared(lane_spares(v_lane)) then
    v_told := spare_take(v_lane, cursor_move(v_seq, v_uses), 0, v_epoch, v_about, p_worker, v_lease, p_max_bytes,
      p_track_start);
    if v_told <> '' then
      return v_told;
    end if;
  end if;
  if v_uses >= 64 or ring_turn(v_head_xid) <> ring_turn(xmax_now())
     or cardinality(v_late) > 0 and late_ended(v_late) then
    return '';
  end if;
  v_now := clock_now();

  -- The next ticket, who was running when it was read, and whether all is as it was learned: nothing changed, nothing
  -- announced, due, let go, lost or claimable again; and nothing behind the ticket where more is wanted.
  select n.xid, n.id, n.skip, n.jobs, n.bytes, s.jobs, pg_current_snapshot(),
         n.bytes <= p_max_bytes and v_epoch = (select sum(n) from rule_change)
         and not exists (select from scout) and not exists (select from postponed)
         and not exists (select from agenda where due_at <= v_now and (chain = 1) is not true)
         and not exists (select from claim k where k.ctid < '(4,0)'::tid and k.until <= v_now)
         and not exists (
           select from (select * from lane_cursor a where a.track = again_of(v_lane) order by a.seq desc limit 1) a
            where cardinality(a.late) > 0 or ring_turn(a.head_xid) <> ring_turn(v_head_xid) or exists (
              select from ticket k
               where k.slot = ticket_slot(v_head_xid) and k.lane = again_of(v_lane)
                 and (k.xid, k.id) >= (a.head_xid, a.head_ticket)
                 and not (k.xid = a.head_xid and k.id = a.head_ticket and cardinality(k.jobs) <= a.head_offset)))
         and (cardinality(s.jobs) = p_wanted or not exists (
           select from ticket k
            where k.slot = ticket_slot(v_head_xid) and k.lane = v_lane
              and (k.xid, k.id) > (n.xid, n.id)))
    into v_xid, v_ticket, v_offset, v_rest, v_bytes, v_jobs, v_snapshot, v_plain
    from (select k.xid, k.id, k.jobs, k.bytes,
                 case when k.xid = v_head_xid and k.id = v_head_ticket then v_head_offset else 0 end as skip
            from ticket k
           where k.slot = ticket_slot(v_head_xid) and k.lane = v_lane
             and (k.xid, k.id) >= (v_head_xid, v_head_ticket)
             and not (k.xid = v_head_xid and k.id = v_head_ticket and cardinality(k.jobs) <= v_head_offset)
           order by k.xid, k.id limit 1) n
    cross join lateral (select n.jobs[n.skip + 1 : n.skip + p_wanted] as jobs) s;
  if v_plain is not true or v_xid >= pg_current_xact_id_if_assigned()::text::bigint then
    return '';
  end if;
  v_slot := job_slot(v_jobs[1]);
  v_lines := job_lines_read(v_slot, v_jobs);
  if v_lines.ids is distinct from v_jobs or v_lines.amended or v_lines.start_by <= v_now then
    return '';
  end if;

  v_offset := v_offset + cardinality(v_jobs);
  if v_xid > v_head_xid and xmin_of(v_snapshot) < v_xid then
    v_late := v_late
      || late_from(array(select x from xids_running(v_snapshot) x where x >= v_head_xid and x < v_xid));
  end if;
  -- Others may wait for the lane, if this claim did, or the last one left something for them.
  v_crowd := p_wanted = 1 and (v_crowd or v_left is not null) and not pg_try_advisory_xact_lock(lane_spares(v_lane));
  v_left := null;
  if v_crowd then
    select l.head_xid, l.head_ticket, l.head_offset, v_late || l.late, l.n
      into v_xid, v_ticket, v_offset, v_late, v_left
      from spares_leave(v_lane, cursor_move(v_seq, v_uses + 1), v_xid, v_ticket, v_offset, v_rest, v_bytes, v_now) l;
  end if;
  v_until := v_now + seconds(v_lease);
  with moved as (
    update lane_cursor set uses = uses + 1, head_xid = v_xid, head_ticket = v_ticket, head_offset = v_offset,
      late = v_late, credit = v_left
     where track = v_lane and seq = v_seq
  ), counted as (
    insert into tally (lane, ready) values (v_lane, -cardinality(v_jobs))
  )
  insert into claim (token, lane, slot, worker, jobs, unstarted, deadline, started_at, touched_at, until,
    linked)
  values (v_token, v_lane, v_slot, p_worker, v_jobs, case when p_track_start then v_jobs end, v_lines.deadline,
          v_now, v_now, v_until, v_lines.linked);
  return claim_told(v_token, v_about, v_now, v_until, false, v_lines.max_attempts, null, v_jobs, v_lines.extras,
    v_lines.inputs);
end $$;

-- express_asked: a request by its digest, to be found again, however many types it names. The server is part of it: a
-- session on another one than the cell's finds nothing here, and the general way refuses it (cell_at_home). Null when
-- only the general way will do: with more than one queue, or very many jobs.
create or replace function express_asked(p_queues text[], p_types text[], p_wanted int, p_server text) returns text
language sql stable parallel safe as $$
  select case when cardinality(p_queues) = 1 and p_wanted <= 100 then
    md5(p_queues[1] || coalesce(' ' || p_types::text, '') || p_server) end
$$;

-- express_pick: which of few lanes to claim from, by its place in the list: of the most urgent ones that have
-- something, the one with the oldest job, as lanes_probe has it. Null when none has anything, and when more than one
-- job is wanted and more than one lane has something: then the general way goes. Only a hint, as there.
create or replace function express_pick(p_lanes bigint[], p_priorities int[], p_wanted int) returns int
language plpgsql stable as $$
begin
  return case when p_lanes is not null then
    express_pick_at(ticket_slot(xmax_now()), p_lanes, p_priorities, p_wanted, ring_turn(xmax_now())) end;
end $$;

-- express_pick_0 to express_pick_7: the same, by a look at one ring child, which is where all lanes stand that are in
-- use: making ready to look at all of them takes longer than to look. express_pick_far: at all of them.
-- express_pick_at: the one for a child.
do $do$
declare
  v_body constant text := $body$
    create or replace function express_pick_%1$s(p_lanes bigint[], p_priorities int[], p_wanted int, p_turn bigint)
      returns int
    language plpgsql stable as $$
    declare
      v_places int[]; v_all boolean;
    begin
      select array_agg(x.n order by x.priority, x.oldest, x.lane) filter (where x.oldest is not null), bool_and(x.here)
        into v_places, v_all
        from (select u.n, u.priority, u.lane, bool_and(p_turn is null or ring_turn(c.head_xid) = p_turn) as here,
                     min(case when cardinality(c.late) > 0 and late_ended(c.late) then 0 else (
                       select t.jobs[1] from %2$s t
                        where t.lane = c.track and (t.xid, t.id) >= (c.head_xid, c.head_ticket)
                          and not (t.xid = c.head_xid and t.id = c.head_ticket and cardinality(t.jobs) <= c.head_offset)
                        order by t.xid, t.id limit 1) end) as oldest
                from unnest(p_lanes, p_priorities) with ordinality u (lane, priority, n)
                cross join lateral (values (u.lane), (again_of(u.lane))) track (key)
                cross join lateral (select * from lane_cursor k where k.track = track.key order by k.seq desc limit 1) c
               group by u.n, u.priority, u.lane) x;
      if not v_all then
        return express_pick_far(p_lanes, p_priorities, p_wanted, null);
      end if;
      return case when cardinality(v_places) = 1 or p_wanted = 1 then v_places[1] end;
    end $$ $body$;
begin
  for i in 0 .. 7 loop
    execute format(v_body, i, 'ticket_' || i);
  end loop;
  execute format(v_body, 'far', 'ticket');
  execute 'create or replace function express_pick_at(p_slot smallint, p_lanes bigint[], p_priorities int[], '
    || 'p_wanted int, p_turn bigint) returns int language plpgsql stable as $body$ begin return case p_slot '
    || (select string_agg(format('when %s then express_pick_%s(p_lanes, p_priorities, p_wanted, p_turn)', i, i), ' ')
          from generate_series(0, 7) i)
    || ' end; end $body$';
end $do$;

-- express_learn: note whether a request is plain, as things stand. Of a thousand requests all are forgotten: callers
-- may name types as they like. Only for a transaction that does nothing else: who learns the same waits for it.
-- Writes: express_lane.
create or replace function express_learn(p_asked text, p_queue_id int, p_types text[]) returns void
language plpgsql as $$
begin
  if exists (select from express_lane x where x.asked = p_asked and x.epoch = rules_epoch()) then
    return;
  end if;
  if (select count(*) from express_lane) >= 1000 then
    delete from express_lane where asked = any (array(select asked from express_lane for update skip locked));
  end if;
  insert into express_lane as x (asked, lanes, priorities, abouts, leases, epoch)
  select p_asked,
         case when bool_and(l.is_plain) and count(*) <= express_most() then array_agg(l.key order by l.key) end,
         array_agg(l.priority order by l.key), array_agg(l.about order by l.key), array_agg(l.lease order by l.key),
         rules_epoch()
    from (
      select k.key, k.priority, lane_about(q.name, k.type, k.priority) as about,
             coalesce((o.options ->> 'leaseSeconds')::float8, 30) as lease,
             q.paused_at is null and k.resources is null
             and not (k.grouped or k.heavy or o.options ?| express_foes())
             and not (o.options ? 'agingSeconds' and count(*) over () > 1)
             and not exists (select from pause z where z.queue_id = q.id and z.group_key is null)
             and not exists (select from aside r where r.lane = k.key)
             and not exists (select from lane_purge p where p.lane = k.key and p.is_open) as is_plain
        from queue q cross join cell c join lane k on k.queue_id = q.id and k.rest_xid is null
        left join job_type t on t.type = k.type
        cross join lateral (select c.options || q.options || coalesce(t.options, '{}') as options) o
       where q.id = p_queue_id and (p_types is null or k.type = any (p_types))
       limit express_most() + 1) l
  on conflict (asked) do update set lanes = excluded.lanes, priorities = excluded.priorities,
    abouts = excluded.abouts, leases = excluded.leases, epoch = excluded.epoch;
end $$;

-- express_most: of so many lanes at most one is picked the express way. Each costs a look.
create or replace function express_most() returns int
language sql immutable parallel safe as $$ select 8 $$;

-- express_foes: the options whose lanes only the general way may claim from.
create or replace function express_foes() returns text[]
language sql immutable parallel safe as $$
  select '{maxRunning, rate, breaker, waitsFor, freshnessSeconds, leaseFactor, leaseCapSeconds}'::text[]
$$;
