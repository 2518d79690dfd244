-- Notices: what happened to jobs that others wait for. They are a track of tickets, read by a cursor like any other
-- (claim/track_read.sql), so that none is missed or read twice, however late its transaction commits. A ticket of it
-- names jobs, and says in "attempt" what happened: 1, they have ended; 2, what they wait for may be there; 3, they have
-- ended, and somebody was in the way when that was told.

-- notice_track: the one track of notices. It is no lane's: the key of a lane ends in two zero bits, and that no hash of
-- a queue and a type is 8 is as sure as that no two of them are alike. Odd, so that what happened is read with it.
create or replace function notice_track() returns bigint
language sql immutable parallel safe as $$ select 9::bigint $$;

-- notice_lock: held while notices are delivered, so that each is delivered by one.
create or replace function notice_lock() returns bigint
language sql stable as $$ select hashint8extended(0, 'step'::regclass::oid::bigint * 4) $$;

-- notice_append: tell of jobs. Only appends, inside any transaction: nobody waits for it. How many were told of is kept
-- until the end of the transaction (notices_told): a look at the log would cost those who tell of none. Writes: ticket.
create or replace function notice_append(p_jobs bigint[], p_what int) returns void
language plpgsql as $$
begin
  if p_jobs <> '{}' then
    perform set_config('millrace.told', (notices_told() + cardinality(p_jobs))::text, true);
    perform tickets_write(array(
      select ticket_of(notice_track(), p_jobs[k : k + 99], p_what, 0, false, null)
        from generate_series(1, cardinality(p_jobs), 100) k));
  end if;
end $$;

-- notices_told: of how many jobs this transaction has told.
create or replace function notices_told() returns int
language sql volatile as $$ select coalesce(nullif(current_setting('millrace.told', true), ''), '0')::int $$;

-- notices_deliver: let go on what waits for something that has happened: reads the next p_limit notices, at most. Any
-- process may call it, in a transaction of its own: those who do wait for each other, for some milliseconds. Wakes
-- the workers of what was resumed. Returns {"notices": how many were read, "resumed": how many jobs may go on, "more":
-- there are others}.
-- Locks: notice_lock; agenda rows, skipped when taken. Writes: lane_cursor, step, agenda, ticket, amendment. Raises:
-- MR001, MR007.
create or replace function notices_deliver(p_limit int default 1000) returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$  -- long lists of ids made planning take longer than all else
declare
  v_read int;
  v_resumed bigint[];
  v_queues text[];
  v_more boolean;
begin
  perform isolation_check('delivering notices');
  if p_limit is null or p_limit not between 1 and 100000 then
    perform raise_error('MR001', format('a limit of %s notices is not possible', p_limit), 'give 1 to 100000');
  end if;
  if not notices_wait() then  -- without a lock, and without a number for the transaction
    return json_build_object('notices', 0, 'resumed', 0, 'more', false);
  end if;
  perform pg_advisory_xact_lock(notice_lock());
  select * into v_read, v_resumed, v_queues, v_more from notices_pass(p_limit);
  perform queue_notify(v_queues);
  return json_build_object('notices', v_read, 'resumed', cardinality(v_resumed), 'more', v_more);
end $$;

-- notices_pass: the same, for who holds notice_lock. When notices cannot be delivered together, they are one at a time,
-- and the one that cannot be is passed over with a warning: it must not keep all others waiting. read: how many were
-- read; resumed: jobs that may go on, and the queues of these; more: there are other notices.
-- Locks and writes: as notices_deliver.
create or replace function notices_pass(p_limit int, out read int, out resumed bigint[], out queues text[],
  out more boolean)
language plpgsql as $$
declare
  r track_reading;
  v_limit int := p_limit;
begin
  resumed := '{}';
  loop
    r := track_read(track_cursor(notice_track()), v_limit);
    read := coalesce(cardinality(r.jobs), 0);
    exit when read = 0;
    begin
      resumed := notices_match(r);
      exit;
    exception when others then
      perform passing_check(sqlstate, sqlerrm);
      if read = 1 then
        raise warning 'millrace: what happened to job % could not be told: % (%)', r.jobs[1], sqlerrm, sqlstate;
        exit;
      end if;
      v_limit := 1;
    end;
  end loop;
  perform track_advance(r, read);  -- also past what had nothing: else it would be looked at for ever
  if resumed <> '{}' then
    queues := runs_resume(resumed);
  end if;
  more := read = v_limit or read > 0 and exists (  -- what has ended here may be waited for too
    select from ticket k
     where k.slot = ticket_slot(xid_now()) and k.lane = notice_track() and k.xid = xid_now() and k.attempt = 1
       and (k.xid, k.id) > (coalesce(r.xids[read], 0), coalesce(r.tickets[read], 0)));
end $$;

-- notices_settle: deliver in the transaction that has told, before it commits: what waits for the few jobs of a report
-- may be claimed by the same round trip. Nobody is waited for, and when it does not work, nothing of it is done: who
-- delivers later will. Returns what may go on, and whether nothing is left to be delivered.
-- Locks: notice_lock, skipped when taken, and as notices_deliver. Writes: as notices_deliver.
create or replace function notices_settle(out resumed bigint[], out queues text[], out is_done boolean)
language plpgsql set plan_cache_mode = force_generic_plan as $$  -- planning took more time than all else
begin
  is_done := false;
  if current_setting('transaction_isolation') = 'read committed' and pg_try_advisory_xact_lock(notice_lock()) then
    select p.resumed, p.queues, not p.more into resumed, queues, is_done from notices_pass(1000) p;
  end if;
exception when others then
  resumed := null; queues := null; is_done := false;
end $$;

-- notices_match: what some notices tell, to those who wait for it. Returns the jobs that may go on. Writes: step,
-- agenda, ticket, amendment.
create or replace function notices_match(r track_reading) returns bigint[]
language plpgsql as $$
declare
  v_looked constant bigint[] := array(
    select distinct u.job from unnest(r.jobs, r.attempts) u (job, what) where u.what = 2);
  v_resumed bigint[];
begin
  v_resumed := ends_deliver(array(select distinct u.job from unnest(r.jobs, r.attempts) u (job, what)
                                   where u.what <> 2 order by 1));
  if v_looked <> '{}' then
    v_resumed := v_resumed || flows_end(waits_look(v_looked));
  end if;
  return v_resumed;
end $$;

-- ends_deliver: jobs have ended: their parents are told how, once each, and so is who waits for them in a flow. Returns
-- who may go on. Writes: step, agenda, and as job_cancel and flows_end.
create or replace function ends_deliver(p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
  v_jobs bigint[]; v_states text[]; v_results json[]; v_errors json[];  -- side by side, and so are these:
  v_above bigint[]; v_keys text[]; v_ns int[];
  v_parents bigint[]; v_counts jsonb[];
  v_flows bigint[]; v_told int[];
  v_waiting bigint[];
  v_done bigint[];
  v_begin bigint[];
  v_many constant int := 10;  -- so many jobs of a flow that have succeeded are noted in one row
begin
  select array_agg(o.job_id), array_agg(o.state), array_agg(o.result), array_agg(o.error), array_agg(o.parent),
         array_agg(o.parent_key), array_agg(o.parent_n)
    into v_jobs, v_states, v_results, v_errors, v_above, v_keys, v_ns
    from (select job_slot(u.id) as slot, array_agg(u.id) as jobs from unnest(p_jobs) u (id) group by 1) d
    cross join lateral outcomes_read(d.slot, d.jobs) o;
  if v_jobs is null then
    return '{}';
  end if;
  v_waiting := array(select u.id from unnest(v_jobs, v_states) u (id, state) where u.state <> 'succeeded');
  if v_waiting <> '{}' then
    perform children_cancel(v_waiting);
  end if;
  v_begin := edges_deliver(v_jobs, v_states);
  if cardinality(v_jobs) >= v_many then
    select array_agg(f.flow), array_agg(ends_gather(job_slot(f.flow), f.flow, f.jobs)) into v_flows, v_told
      from (select u.parent as flow, array_agg(u.id) as jobs
              from unnest(v_jobs, v_states, v_above, v_keys) u (id, state, parent, key)
             where u.parent is not null and u.key is null and u.state = 'succeeded'
             group by 1 having count(*) >= v_many) f;
  end if;
  with told as (
    select t.job_id, t.key, count(*) as n
      from (select job_slot(u.parent) as slot, array_agg(u.parent) as parents,
                   array_agg(coalesce(u.key, 'job')) as keys, array_agg(coalesce(u.n, u.id)) as ns,
                   array_agg(u.id) as jobs, array_agg(u.state) as states,
                   array_agg(case when u.key is not null then u.result end) as results,
                   array_agg(case when u.key is not null and u.state <> 'succeeded'
                     then coalesce(u.error, json_build_object('message',
                       case u.state when 'cancelled' then 'it was cancelled' else 'it has ' || u.state end)) end)
                     as errors
              from unnest(v_jobs, v_states, v_results, v_errors, v_above, v_keys, v_ns)
                u (id, state, result, error, parent, key, n)
             where u.parent is not null
               and (u.key is null and u.state = 'succeeded' and u.parent = any (v_flows)) is not true
             group by 1) p
      cross join lateral ends_append(p.slot, p.parents, p.keys, p.ns, p.jobs, p.states, p.results, p.errors) t
     group by 1, 2
  )
  select array_agg(c.job_id), array_agg(c.counts) into v_parents, v_counts
    from (select t.job_id, jsonb_object_agg(t.key, t.n) as counts
            from (select x.job_id, x.key, sum(x.n) as n
                    from (select * from told
                          union all
                          select f.id, 'job', f.n from unnest(v_flows, v_told) f (id, n) where f.n > 0) x
                   group by 1, 2) t
           group by 1) c;
  if v_parents is null then
    return v_begin;
  end if;
  -- what nobody has counted yet is counted when it is looked at
  v_waiting := runs_lock(v_parents);
  with left_over as (
    update agenda g set waits = jsonb_set(g.waits, '{children}', (
             select jsonb_object_agg(k.key, k.value::int - coalesce((u.counts ->> k.key)::int, 0))
               from jsonb_each_text(g.waits -> 'children') k))
      from unnest(v_parents, v_counts) u (job, counts)
     where g.job_id = u.job and g.job_id = any (v_waiting) and g.waits ? 'children'
    returning g.job_id, g.waits -> 'children' as children)
  select array_agg(l.job_id) into v_done from left_over l
   where exists (select from jsonb_each_text(l.children) k where k.value::int <= 0);
  return v_begin || flows_end(v_done);  -- a flow waits for its jobs alone, so none of those that begin is one
end $$;

-- children_cancel: of jobs that ended without success, the children that have not ended are cancelled with them, unless
-- they were started to go on by themselves ("detached"). A thousand at once, so that other notices are not held up for
-- long. The rest, or all where somebody decides on one of them just now, comes with the next notices; so does what
-- somebody adds to a flow that was cancelled meanwhile. Locks: as job_cancel; flow_lock, skipped when taken. Writes: as
-- job_cancel, and ticket.
create or replace function children_cancel(p_jobs bigint[]) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  v_most constant int := 1000;
  v_children bigint[];
begin
  perform notice_append(array(
    select j.id from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id
     where j.type = flow_type() and not pg_try_advisory_xact_lock(flow_lock(j.id))), 3);
  v_children := array(
    select u.id from unnest(p_jobs) o (job_id)
      join step s on s.slot = job_slot(o.job_id) and s.job_id = o.job_id and s.kind = 'started'
       and s.about is distinct from 'detached'
      cross join lateral unnest(s.jobs) u (id)
     where not job_over(u.id) limit v_most);
  if v_children <> '{}' then
    perform job_cancel(v_children, 'the job that started it has ended');
  end if;
  if cardinality(v_children) = v_most then
    perform notice_append(p_jobs, 1);
  end if;
exception when lock_not_available or deadlock_detected then
  perform notice_append(p_jobs, 3);
end $$;

-- runs_lock: of these jobs, those that are suspended, and stay so until the end of this transaction but for what it
-- does itself. One that somebody else has in hands is looked at again with the next notices. Locks: agenda rows,
-- skipped when taken. Writes: ticket.
create or replace function runs_lock(p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
  v_locked constant bigint[] := array(
    select g.job_id from agenda g
     where g.job_id = any (p_jobs) and g.waits is not null and g.due_at > clock_now()
     order by g.job_id for update skip locked);
begin
  if cardinality(v_locked) < cardinality(p_jobs) then
    perform notice_append(array(
      select g.job_id from agenda g
       where g.job_id = any (p_jobs) and g.waits is not null and g.due_at > clock_now()
         and g.job_id <> all (v_locked)), 2);
  end if;
  return v_locked;
end $$;

-- waits_look: which of these suspended jobs have what they wait for: a signal, which they get, or no job that has not
-- ended. Of signals with the same id one counts. Writes: step, agenda, ticket.
create or replace function waits_look(p_jobs bigint[]) returns bigint[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_begin constant bigint[] := edges_check(p_jobs);
  v_waiting constant bigint[] := runs_lock(p_jobs);
  v_slot smallint;
  v_some bigint[];
  v_told bigint[] := '{}';
  v_ended bigint[];
begin
  perform notice_append(children_dropped(array(
    select job_id from agenda where job_id = any (v_waiting) and waits ? 'children')), 1);
  for v_slot, v_some in
    select job_slot(u.id), array_agg(u.id) from unnest(v_waiting) u (id) group by 1
  loop
    v_told := v_told || signals_get(v_slot, v_some);
  end loop;

  with counted as (
    select g.job_id, k.key,
           k.value::int - (select coalesce(sum(coalesce(cardinality(s.jobs), 1)), 0) from step s
                            where s.slot = job_slot(g.job_id) and s.job_id = g.job_id and s.key = k.key
                              and s.kind = 'ended') as n
      from agenda g cross join lateral jsonb_each_text(g.waits -> 'totals') k
     where g.job_id = any (v_waiting) and g.waits ? 'totals'
  ), noted as (
    update agenda g set waits = jsonb_set(g.waits, '{children}', c.children)
      from (select job_id, jsonb_object_agg(key, n) as children from counted group by job_id) c
     where g.job_id = c.job_id
  )
  select array_agg(distinct job_id) into v_ended from counted where n <= 0;
  -- somebody may have had a job in hands when the end of another was told
  update agenda g
     set waits = g.waits || jsonb_build_object('after', (g.waits ->> 'of')::int - c.n, 'bad', c.bad)
    from (select u.id, count(s.job_id)::int as n, (count(*) filter (where s.about <> 'succeeded'))::int as bad
            from unnest(v_waiting) u (id)
            left join step s on s.slot = job_slot(u.id) and s.job_id = u.id and s.key = 'after' and s.kind = 'ended'
           group by 1) c
   where g.job_id = c.id and g.waits ? 'after';
  return v_begin || v_told || coalesce(v_ended, '{}') || waiters_decide(v_waiting);
end $$;

-- signals_get_00 to signals_get_31, signals_get: of these suspended jobs, those that have a signal they wait for: each
-- gets the first that it has not got yet. One function per ring child, as for steps (steps_append_to). Writes: step.
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function signals_get_%1$s(p_jobs bigint[]) returns bigint[]
      language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $body$
      declare
        v_told bigint[];
      begin
        with next as (
          select distinct on (g.job_id) g.job_id, g.waits -> 'signals' ->> s.key as key, s.key as name, s.n, s.value
            from agenda g
            join step_%1$s s on s.job_id = g.job_id and s.kind = 'signal' and g.waits -> 'signals' ? s.key
           where g.job_id = any (p_jobs)
             and g.waits ? 'signals'
             and not exists (select from step_%1$s d
                              where d.job_id = s.job_id and d.key = s.key and d.kind = 'got' and d.n = s.n)
             and not exists (select from step_%1$s o
                               join step_%1$s d on d.job_id = s.job_id and d.key = s.key and d.kind = 'got'
                                and d.n = o.n
                              where o.job_id = s.job_id and o.key = s.key and o.kind = 'signal'
                                and o.about = s.about)
           order by g.job_id, s.n
        ), got as (
          insert into step_%1$s (job_id, slot, key, kind, n, at, about, value)
          select job_id, %2$s, name, 'got', n, clock_now(), key, value from next
          returning job_id
        )
        select array_agg(job_id) into v_told from got;
        return coalesce(v_told, '{}');
      end $body$ $function$, lpad(i::text, 2, '0'), i);
  end loop;
  execute 'create or replace function signals_get(p_slot smallint, p_jobs bigint[]) returns bigint[] '
    || 'language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return signals_get_%s(p_jobs);', i, lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;

-- runs_resume: let suspended jobs go on, which the caller has locked. They become claimable at once; where that cannot
-- be, because a purge is at work, jobs are taken by their ids, or a job runs later or has a time to start by, their
-- time comes, and agenda_promote does it. Returns their queues.
-- Locks: the entry of lanes, skipped when taken. Writes: agenda, ticket, tally, suspended_tally, amendment.
create or replace function runs_resume(p_jobs bigint[]) returns text[]
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_jobs bigint[]; v_bytes int[];  -- side by side, those that may go on now
  v_lanes bigint[];  -- those that jobs may be put into
  v_queues text[];
  v_tickets ticket[];
  v_resumed int;
begin
  select array_agg(l.lane) filter (where l.is_open), coalesce(array_agg(distinct l.name), '{}') into v_lanes, v_queues
    from (select d.lane, q.name, not chained(q.options, true) and not chained(q.options, false)
                   and pg_try_advisory_xact_lock_shared(lane_entry(d.lane)) as is_open
            from (select distinct g.lane from agenda g where g.job_id = any (p_jobs)) d
            join lateral (select l.queue_id from lane_known l where l.key = d.lane limit 1) l on true
            join queue q on q.id = l.queue_id) l;
  select array_agg(s.job_id), array_agg(s.bytes) into v_jobs, v_bytes
    from (select job_slot(u.id) as slot, array_agg(u.id) as jobs from unnest(p_jobs) u (id) group by 1) d
    cross join lateral run_starts(d.slot, d.jobs) s
   where s.run_at <= v_now and not s.renews;
  perform set_config('millrace.counts', 'off', true);  -- suspended_count
  with gone as (
    delete from agenda g
     where g.job_id = any (v_jobs)
       and g.lane = any (v_lanes)
       and g.chain is null
       and not (exists (select from lane_purge p where p.leftover and p.lane = g.lane) and agenda_dropped(g))
    returning *
  ), resumed as materialized (
    select g.lane, g.job_id, again_of(g.track) as again, g.attempt, g.version, g.alone, s.bytes::bigint as bytes
      from gone g join unnest(v_jobs, v_bytes) s (id, bytes) on s.id = g.job_id
  ), tickets as (
    select array_agg(ticket_of(again, jobs, attempt, version, alone, bytes) order by jobs[1]) as made
      from (select again, attempt, version, alone, array_agg(job_id order by job_id) as jobs,
                   least(sum(bytes), 2147483647)::int as bytes
              from (select r.*, (row_number() over (partition by again, attempt, version, alone order by job_id) - 1)
                             / 100 as chunk
                      from resumed r) r
             group by again, attempt, version, alone, chunk) t
  ), turns as (
    select array_agg(line_ticket_of(lane, tracks)) as made
      from (select lane, array_agg(again order by first) as tracks
              from (select lane, again, min(job_id) as first from resumed where again <> again_of(lane)
                     group by lane, again) t
             group by lane) t
  ), counted as (
    insert into tally (lane, ready, delayed) select lane, count(*), -count(*) from resumed group by lane
  ), uncounted as (
    insert into suspended_tally (lane, n) select lane, -count(*) from resumed group by lane
  )
  select count(*), (select made from tickets) || (select made from turns) into v_resumed, v_tickets from resumed;
  perform set_config('millrace.counts', '', true), tickets_write(v_tickets);
  if v_resumed < cardinality(p_jobs) then
    update agenda g
       set waits = null,
           due_at = case when not g.waits ? 'after' then v_now else flow_time(g.job_id) end
     where g.job_id = any (p_jobs);
  end if;
  return v_queues;
end $$;

-- notices_wait: whether there are notices that nobody has delivered.
create or replace function notices_wait() returns boolean
language plpgsql as $$
declare
  c constant lane_cursor := track_cursor(notice_track());
begin
  return cardinality(c.late) > 0
    or ring_turn(c.head_xid) <> ring_turn(xmax_now())
    or exists (select from ticket k
                where k.slot = ticket_slot(c.head_xid) and k.lane = notice_track()
                  and (k.xid, k.id) >= (c.head_xid, c.head_ticket)
                  and not (k.xid = c.head_xid and k.id = c.head_ticket and cardinality(k.jobs) <= c.head_offset));
end $$;

-- children_look: tell of children that were purged or shed, which is written down nowhere but in lane_purge, and of
-- such jobs that others wait for (others_dropped). A look at all who wait, when there was a purge since the last one:
-- the duty's row has its snapshot. Who begins to wait later looks by itself (waits_look). Skipped while somebody else
-- looks. Writes: duty, ticket.
create or replace function children_look() returns void
language plpgsql as $$
declare
  v_last pg_snapshot;
  v_now pg_snapshot;
  v_new boolean;
begin
  if not exists (select from lane_purge) then
    return;
  elsif not exists (select from duty where name = 'children') then
    insert into duty (name) values ('children') on conflict do nothing;
  end if;
  select d.holder::pg_snapshot into v_last from duty d where d.name = 'children' for update skip locked;
  if not found then
    return;
  end if;
  select pg_current_snapshot(), bool_or(v_last is null or not pg_visible_in_snapshot(p.own_xid::text::xid8, v_last))
    into v_now, v_new from lane_purge p;
  if v_new then
    update duty set holder = v_now::text, done_at = clock_now() where name = 'children';
    perform notice_append(children_dropped(array(select job_id from agenda where waits ? 'children')), 1);
    perform notice_append(others_dropped(), 1);
  end if;
end $$;

-- children_dropped: children of these jobs that were purged or shed, and of which they were not told.
create or replace function children_dropped(p_jobs bigint[]) returns bigint[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if p_jobs = '{}' or not exists (select from lane_purge) then  -- the plan of what follows takes longer than all else
    return '{}';
  end if;
  return array(
    select j.id
      from (select s.* from unnest(p_jobs) u (id)
              join step s on s.slot = job_slot(u.id) and s.job_id = u.id and s.kind = 'started'
             where exists (select from lane_purge p where p.purged_at >= s.at)
            offset 0) s
      cross join lateral unnest(s.jobs) u (id)
      join job j on j.slot = job_slot(u.id) and j.id = u.id
     where exists (select from lane_purge p
                    where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources) and p.purged_at >= s.at)
       and not exists (select from step d
                        where d.slot = s.slot and d.job_id = s.job_id and d.key = s.key and d.kind = 'ended'
                          and (d.n = coalesce(j.parent_n, j.id) or j.id = any (d.jobs)))  -- of a flow: by its id
       and job_over(j.id));
end $$;

-- others_dropped: jobs that were purged or shed, that were there before a job that waits for them, and of which it was
-- not told. Those of its own flow are children of that.
create or replace function others_dropped() returns bigint[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return array(
    select distinct j.id
      from agenda g
      cross join lateral jsonb_array_elements_text(coalesce(g.waits -> 'check', g.waits -> 'others')) t (id)
      join job j on j.slot = job_slot(t.id::bigint) and j.id = t.id::bigint
     where g.waits ?| '{check,others}'
       and exists (select from lane_purge p where p.lane = lane_key(j.queue_id, j.type, j.priority, j.resources))
       and not exists (select from step d
                        where d.slot = job_slot(g.job_id) and d.job_id = g.job_id and d.key = 'after'
                          and d.kind = 'ended' and d.n = j.id)
       and job_over(j.id));
end $$;

-- notices_restore: tell again, after tickets were lost, of all that somebody may wait for: each suspended job is to be
-- looked at, and each of its children that has ended is told of. Writes: ticket.
create or replace function notices_restore() returns void
language plpgsql as $$
begin
  delete from duty where name = 'children';  -- its snapshot is of the other server
  perform notice_append(array(
    select u.id from agenda g
      join step s on s.slot = job_slot(g.job_id) and s.job_id = g.job_id and s.kind = 'started'
      cross join lateral unnest(s.jobs) u (id)
     where g.waits ? 'children' and job_over(u.id)), 1);
  perform notice_append(array(
    select e.target from agenda g join edge e on e.waiter = g.job_id
     where g.waits ? 'after' and job_over(e.target)), 1);
  perform notice_append(array(select job_id from agenda where waits is not null), 2);
end $$;
