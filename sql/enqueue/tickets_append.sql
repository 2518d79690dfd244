-- How jobs become claimable, and groups get in line for a turn: the one file that appends to "ticket", apart from
-- job_store, which says why, and from the claims of groups. What is known of one track goes through tickets_append;
-- a statement that chooses jobs of many tracks puts tickets together (ticket_of, line_ticket_of) for tickets_write.

-- tickets_append: make jobs of one track of a lane claimable, at most 100 to a ticket, and put its group in line for a
-- turn. p_bytes bounds what all of them together add to a claim; null when unknown. Writes: ticket.
create or replace function tickets_append(p_lane bigint, p_track bigint, p_jobs bigint[], p_attempt int, p_version int,
  p_alone boolean, p_bytes int default null) returns void
language plpgsql as $$
declare
  v_xid bigint := xid_now();
begin
  if cardinality(p_jobs) <= 100 then
    insert into ticket (lane, xid, slot, attempt, version, alone, bytes, jobs)
    values (p_track, v_xid, ticket_slot(v_xid), p_attempt, p_version, p_alone, p_bytes, p_jobs);
  else
    insert into ticket (lane, xid, slot, attempt, version, alone, bytes, jobs)
    select p_track, v_xid, ticket_slot(v_xid), p_attempt, p_version, p_alone, p_bytes, p_jobs[k : k + 99]
      from generate_series(1, cardinality(p_jobs), 100) k;
  end if;
  if fresh_of(p_track) <> p_lane then
    perform line_append(p_lane, array[p_track]);
  end if;
end $$;

-- tickets_write: append tickets in this order. Their transaction, place and number are filled in here. Null: none.
-- Writes: ticket.
create or replace function tickets_write(p_tickets ticket[]) returns void
language plpgsql as $$
declare
  v_xid bigint := xid_now();
begin
  insert into ticket (lane, xid, slot, attempt, version, alone, bytes, jobs)
  select t.lane, v_xid, ticket_slot(v_xid), t.attempt, t.version, t.alone, t.bytes, t.jobs from unnest(p_tickets) t;
end $$;

-- ticket_of: at most 100 jobs of a track, for tickets_write.
create or replace function ticket_of(p_track bigint, p_jobs bigint[], p_attempt int, p_version int, p_alone boolean,
  p_bytes int) returns ticket
language sql immutable parallel safe as $$
  select row(p_track, 0, 0, p_attempt, p_version, p_bytes, 0, p_alone, p_jobs)::ticket
$$;

-- line_ticket_of: groups of a lane that get in line, in this order, for tickets_write.
create or replace function line_ticket_of(p_lane bigint, p_tracks bigint[]) returns ticket
language sql immutable parallel safe as $$
  select ticket_of(line_of(p_lane), p_tracks, 1, 0, false, null)
$$;

-- line_append: put groups of a lane in line for a turn, in this order. Writes: ticket.
create or replace function line_append(p_lane bigint, p_tracks bigint[]) returns void
language plpgsql as $$
declare
  v_xid bigint := xid_now();
begin
  insert into ticket (lane, xid, slot, jobs) values (line_of(p_lane), v_xid, ticket_slot(v_xid), p_tracks);
end $$;
