-- tickets_append: make jobs of one track claimable, at most 100 to a ticket.
-- p_bytes bounds what all of them together add to a claim; null when unknown. Writes: ticket.
create or replace function tickets_append(p_track bigint, p_jobs bigint[], p_attempt int, p_version int, p_alone boolean, p_bytes int default null) returns void
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
end $$;
