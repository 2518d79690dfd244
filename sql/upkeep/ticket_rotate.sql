-- ticket_rotate: truncate a ring child of tickets that all cursors have passed. Any process may call it. It proves
-- that, locks the child with a short timeout, and truncates it. All would wait while the proof is repeated under the
-- lock, so that is done only when a transaction of the child's turn of the ring still ran: cursors only move on, and
-- when all of those transactions have ended nothing is added. A child that cannot be locked now is left for later. One
-- child per call, so that no transaction holds two such locks. Returns 1 when a child was emptied, else 0.
create or replace function ticket_rotate() returns int
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '100ms'
  set enable_seqscan = off as $$
declare
  v_now bigint := ring_turn(xmax_now());
  v_running bigint[] := array(select ring_turn(x) from xids_running(pg_current_snapshot()) x);
begin
  perform isolation_check('maintenance');
  for v_turn in v_now - 7 .. v_now - 1 loop
    begin  -- even a look into a child waits for somebody who empties one
      continue when not exists (select from ticket t where t.slot = (v_turn + 8) % 8)
        or not tickets_passed(((v_turn + 8) % 8)::smallint);
      execute format('lock table %I in access exclusive mode', 'ticket_' || (v_turn + 8) % 8);
      if ring_turn(xmax_now()) < v_turn + 8
        and (v_turn <> all (v_running) or tickets_passed(((v_turn + 8) % 8)::smallint)) then
        execute format('truncate %I', 'ticket_' || (v_turn + 8) % 8);
        return 1;
      end if;
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end loop;
  return 0;
end $$;

-- tickets_passed: true when no cursor can still need a ticket of this ring child. Probes each lane found in the child.
create or replace function tickets_passed(p_slot smallint) returns boolean
language plpgsql volatile as $$
begin
  return not exists (
    with recursive track (key) as (
      (select t.lane from ticket t where t.slot = p_slot order by t.lane limit 1)
      union all
      select (select t.lane from ticket t where t.slot = p_slot and t.lane > track.key order by t.lane limit 1)
        from track
       where track.key is not null)
    select from track
      left join lateral (select * from lane_cursor c where c.track = track.key order by c.seq desc limit 1) c on true
     where track.key is not null and (
       c.seq is null
       or exists (select from ticket t
                   where t.slot = p_slot
                     and t.lane = track.key
                     and (t.xid, t.id) >= (c.head_xid, c.head_ticket)
                     and not (t.xid = c.head_xid and t.id = c.head_ticket and cardinality(t.jobs) <= c.head_offset))
       or exists (select from unnest(c.late) l
                   where exists (select from ticket t where t.slot = p_slot and t.lane = track.key and t.xid = l.xid))
       or exists (
         select from lane_cursor s join aside r on r.lane = fresh_of(track.key) and r.n = -(s.seq >> 32)
          where s.track = track.key and s.seq < 0 and (
            exists (select from ticket t
                     where t.slot = p_slot
                       and t.lane = track.key
                       and t.xid >= s.head_xid
                       and t.xid < xmax_of(r.snapshot))
            or exists (select from unnest(s.late) l
                        where exists (select from ticket t
                                       where t.slot = p_slot and t.lane = track.key and t.xid = l.xid))))));
end $$;
