-- agenda_dropped: whether a purge or a shedding dropped a row of the agenda. Such a row waits for nothing any more, and
-- is in nobody's way; upkeep deletes it. What a transaction put there after its own purge is not dropped.
create or replace function agenda_dropped(g agenda) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from lane_purge p
     where p.lane = g.lane
       and purge_saw(p, g.xid, g.job_id)
       and not (g.xid = p.own_xid and g.created_at > p.purged_at)
       and (p.group_key is null
            or p.group_key = (select j.group_key from job j where j.slot = job_slot(g.job_id) and j.id = g.job_id)));
end $$;
