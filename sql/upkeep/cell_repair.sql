-- cell_repair: after a dump was restored into another server, give every waiting job a new ticket in this server's own
-- transactions and start all cursors again. To be run once, while nothing else runs. Returns how many jobs are ready.
-- Claims, attempts and the agenda are kept. What the other server has given out since the dump is not known, so numbers
-- go on far above (sequences_lift), and rates start anew. Locks: everything in the cell. Writes: ticket, lane_cursor,
-- lane_purge, tally, lane_depth, bucket, snooze, queue, queue_event, cell, sequences.
-- Raises: MR006 when the clock is behind the newest job; MR007.
create or replace function cell_repair() returns bigint
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_xid bigint := xid_now();
  v_ready bigint;
  v_tickets bigint; v_turns bigint;  -- read so that it is done
begin
  perform isolation_check('a repair');
  lock table lane, lane_cursor, postponed, spare, claim, agenda, tally, lane_depth, bucket in access exclusive mode;
  perform clock_catches_up(), sequences_lift(), ring_close_purged();
  truncate ticket;
  truncate lane_cursor, aside, lane_purge, postponed, spare, tally, lane_depth, bucket;
  update snooze set due_at = clock_now();
  update agenda set xid = v_xid, chain = case when chain is not null then 0 end;
  update job set xid = 0 where xid > v_xid;
  insert into lane as l (key, queue_id, type, priority, resources, grouped, costs)
  select lane_key(queue_id, type, priority, resources), queue_id, type, priority, resources,
         bool_or(group_key is not null), bool_or(cost is not null)
    from job
   group by 2, 3, 4, 5
  on conflict (key) do update set grouped = l.grouped or excluded.grouped, costs = l.costs or excluded.costs
   where (excluded.grouped and not l.grouped) or (excluded.costs and not l.costs);
  delete from scout;
  insert into lane_cursor (track, seq, head_xid)
  select t.key, 1, v_xid from lane l
    cross join lateral (values (l.key), (again_of(l.key)), (line_of(l.key))) t (key)
  union all
  select notice_track(), 1, v_xid;

  with waiting as materialized (
    select j.id, l.lane, j.group_key, n.version, n.attempt,
           case when n.attempt = 1 and n.version = 0 then g.track else again_of(g.track) end as track
      from job j
      left join lateral (select a.state, a.attempt from job_attempt a
                          where a.slot = j.slot and a.job_id = j.id
                          order by a.attempt desc limit 1) last on true
      left join amendment m on m.slot = j.slot and m.job_id = j.id
      cross join lateral (select coalesce(m.version, 0) as version, coalesce(last.attempt, 0) + 1 as attempt) n
      cross join lateral (select lane_key(j.queue_id, j.type, j.priority, j.resources) as lane) l
      cross join lateral (select group_track(l.lane, j.group_key) as track) g
     where not attempt_is_end(last.state, last.attempt, m.revived_after)
       and m.closed_at is null
       and not exists (select from agenda g where g.job_id = j.id)
       and not exists (select from claim c where j.id = any (c.jobs))
  ), tickets as (
    -- one by one: all of them may be too large for one value
    select tickets_write(array[ticket_of(track, jobs, attempt, version, false, null)])
      from (select track, attempt, version, array_agg(id order by id) as jobs
              from (select w.*,
                           (row_number() over (partition by track, attempt, version order by id) - 1) / 100 as chunk
                      from waiting w) x
             group by track, attempt, version, chunk order by track, chunk) t
  ), turns as (
    select line_append(lane, array_agg(track order by first))
      from (select lane, track, min(id) as first from waiting where group_key is not null group by lane, track) t
     group by lane
  ), counted as (
    insert into lane_depth (lane, ready, delayed, staged)
    select lane, sum(r), sum(d), sum(s)
      from (select lane, 1 as r, 0 as d, 0 as s from waiting
            union all
            select lane, 0, 1, case when stage is not null then 1 else 0 end from agenda) n
     group by lane
  )
  select count(*), (select count(*) from tickets), (select count(*) from turns)
    into v_ready, v_tickets, v_turns from waiting;
  update lane set born_xid = 0, rest_xid = null, is_asleep = false where born_xid > 0 or rest_xid is not null;
  perform rules_restore(), notices_restore();
  update queue set closed_before = null;  -- a number of the other server
  update queue_event set xid = 0;
  update cell set floor_xid = v_xid, server_id = server_id();
  return v_ready;
end $$;

-- ring_close_purged: turn the derived state of purged jobs into recorded ones, before the snapshots that prove it are
-- forgotten.
create or replace function ring_close_purged() returns void
language plpgsql as $$
begin
  perform job_close_waiting(v.slot, v.jobs, 'cancelled', json_build_object('message', 'purged'))
     from (select job_slot(id) as slot, array_agg(id) as jobs
             from jobs
            where state = 'cancelled' and reason = 'purged'
            group by 1) v;
  delete from agenda g
    using amendment m
   where m.slot = job_slot(g.job_id) and m.job_id = g.job_id and m.closed_at is not null;
end $$;

-- sequences_lift: numbers from here on are above all that the other server can have given out: of those that leave the
-- cell (fences of claims, steps) far above what is stored, because a dump does not have the last ones, and a copy by
-- logical replication has no sequences at all. The others begin behind what is stored. Four thousand million at a time
-- leave room for two million repairs in what programs can count to (2^53). Writes: sequences.
create or replace function sequences_lift() returns void
language plpgsql as $$
declare
  v_far constant bigint := 4294967296;
begin
  perform
    setval('ticket_id_seq', v_far + greatest((select last_value from ticket_id_seq), (select max(id) from ticket),
      (select max(greatest(head_ticket, turn)) from lane_cursor))),
    setval('step_id_seq', v_far + greatest((select last_value from step_id_seq), (select max(id) from step))),
    setval('schedule_batch_seq', v_far + (select last_value from schedule_batch_seq)),
    setval('queue_id_seq', greatest((select last_value from queue_id_seq), (select max(id) from queue))),
    setval('queue_event_id_seq', greatest((select last_value from queue_event_id_seq),
      (select max(id) from queue_event))),
    setval('breaker_event_id_seq', greatest((select last_value from breaker_event_id_seq),
      (select max(id) from breaker_event))),
    setval('schedule_event_id_seq', greatest((select last_value from schedule_event_id_seq),
      (select max(id) from schedule_event))),
    setval('decision_id_seq', greatest((select last_value from decision_id_seq), (select max(id) from decision))),
    setval('audit_id_seq', greatest((select last_value from audit_id_seq), (select max(id) from audit)));
end $$;

-- clock_catches_up: ids begin with the time, so the clock has to be past that of the newest job. Waits for up to five
-- seconds. Raises: MR006.
create or replace function clock_catches_up() returns void
language plpgsql as $$
declare
  v_newest constant timestamptz := (select job_created_at(max(id)) from job);
  v_behind constant float8 := date_part('epoch', v_newest - clock_now());
begin
  if v_behind > 5 then
    perform raise_error('MR006',
      format('the newest job was enqueued %s s in the future of this server', round(v_behind::numeric)),
      'set the clock of the server right, or wait; then run "millrace repair" again');
  elsif v_behind >= 0 then
    perform pg_sleep(v_behind + 0.001);
  end if;
end $$;
