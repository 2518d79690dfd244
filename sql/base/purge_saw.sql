-- purge_saw: whether a purge dropped what this transaction had written; the caller compares the group, where one is
-- named. Of its own transaction it dropped what came before it. Views call it with the search path of their reader, so
-- it uses no word of ours.
create or replace function purge_saw(p lane_purge, p_xid bigint, p_job_id bigint) returns boolean
language sql stable parallel safe as $$
  select (p.before is null or p_job_id < p.before)
     and case when p_xid = p.own_xid then p_job_id <= p.own_job
              else pg_visible_in_snapshot(p_xid::text::xid8, p.snapshot) end
$$;
