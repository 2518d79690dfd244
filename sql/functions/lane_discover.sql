-- lane_discover: turn scouts into lanes with a cursor at the oldest ticket they can have. Any process may call it.
-- For given queues it waits for whoever is doing the same, so that a claim sees their lanes; for all (null) it skips.
-- Locked before they are deleted: who finds them gone after that wait has written nothing, and may still wait for a lane.
-- A new cursor starts at the snapshot's xmin or at the oldest ticket seen, so that no running producer is behind it.
-- Locks: scout rows. Writes: lane, lane_cursor, scout.
create or replace function lane_discover(p_queue_ids int[] default null) returns int
language plpgsql set enable_seqscan = off as $$
declare
  s record;
  v_new int := 0;
  v_track bigint;
begin
  for s in
    with gone as (
      delete from scout where ctid = any (case when p_queue_ids is null
          then array(select ctid from scout limit 1000 for update skip locked)
          else array(select ctid from scout where queue_id = any (p_queue_ids) for update) end)
      returning *
    ) select distinct lane, queue_id, type, priority from gone order by lane
  loop
    insert into lane (key, queue_id, type, priority) values (s.lane, s.queue_id, s.type, s.priority) on conflict do nothing;
    continue when not found;
    v_new := v_new + 1;
    foreach v_track in array array[s.lane, s.lane + 1] loop
      insert into lane_cursor (track, seq, head_xid)
      select v_track, 1, least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, min(first.xid))
        from generate_series(0, 7) child cross join lateral (
          select t.xid from ticket t where t.slot = child and t.lane = v_track order by t.xid limit 1) first;
    end loop;
  end loop;
  return v_new;
end $$;
