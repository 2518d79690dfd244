-- tickets_append: make jobs of one track of a lane claimable, at most 100 to a ticket, and put its group in line for a turn.
-- p_bytes bounds what all of them together add to a claim; null when unknown. Writes: ticket.
create or replace function tickets_append(p_lane bigint, p_track bigint, p_jobs bigint[], p_attempt int, p_version int, p_alone boolean, p_bytes int default null) returns void
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
  if p_track & -4 <> p_lane then
    insert into ticket (lane, xid, slot, jobs) values (p_lane + 2, v_xid, ticket_slot(v_xid), array[p_track]);
  end if;
end $$;

-- tickets_again: make jobs claimable again. One that is to run alone leaves its group: whoever claims it claims nothing else.
create or replace function tickets_again(p_lane bigint, p_track bigint, p_jobs bigint[], p_attempt int, p_version int, p_alone boolean) returns void
language plpgsql as $$
begin
  perform tickets_append(p_lane, case when p_alone then p_lane else p_track end + 1, p_jobs, p_attempt, p_version, p_alone);
end $$;
