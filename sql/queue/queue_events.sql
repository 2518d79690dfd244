-- queue_events: what happened to queues since p_since, a cursor that an earlier call returned; null for all that is
-- kept, the newest 10,000. The cursor is the snapshot of that call: whatever it did not see comes now, in whatever
-- order transactions commit, and nothing comes twice. Raises: MR001.
create or replace function queue_events(p_since text default null, out cursor text, out events json)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_since pg_snapshot;
begin
  begin
    v_since := p_since::pg_snapshot;
  exception when invalid_text_representation then
    perform raise_error('MR001', 'this is no cursor of events', 'give one that queue_events returned, or null');
  end;
  select pg_current_snapshot()::text,
         coalesce(json_agg(json_strip_nulls(json_build_object(
           'at', e.at, 'queue', e.queue, 'event', e.event, 'by', e.by, 'because', e.because,
           'type', e.type, 'group', e.group_key, 'job', e.job_id::text, 'stage', e.stage, 'jobs', e.jobs))
           order by e.id), '[]')
    into cursor, events
    from queue_event e
   where v_since is null or e.xid >= xmin_of(v_since) and not xid_seen(e.xid, v_since);
end $$;
