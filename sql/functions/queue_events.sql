-- queue_event_add: note what happened to a queue, and tell whoever listens on the channel millrace:SCHEMA:events. Rare enough to notify from inside the
-- transaction. Writes: queue_event.
create or replace function queue_event_add(p_queue text, p_event text, p_by text default null, p_because text default null, p_type text default null,
  p_group text default null, p_job_id bigint default null, p_stage text default null, p_jobs int default null) returns void
language plpgsql as $$
begin
  insert into queue_event (at, queue, event, by, because, type, group_key, job_id, stage, jobs)
  values (clock_now(), p_queue, p_event, p_by, p_because, p_type, p_group, p_job_id, p_stage, p_jobs);
  if octet_length(current_schema()) <= 47 then  -- a channel has 63 bytes at most
    perform pg_notify('millrace:' || current_schema() || ':events', p_queue || ' ' || p_event);
  end if;
end $$;

-- queue_events: what happened to queues since p_since, a cursor that an earlier call returned; null for all that is kept, the newest 10,000.
-- The cursor is the snapshot of that call: whatever it did not see comes now, in whatever order transactions commit, and nothing comes twice. Raises: MR001.
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
  select pg_current_snapshot()::text, coalesce(json_agg(json_strip_nulls(json_build_object('at', e.at, 'queue', e.queue, 'event', e.event, 'by', e.by, 'because', e.because,
           'type', e.type, 'group', e.group_key, 'job', e.job_id::text, 'stage', e.stage, 'jobs', e.jobs)) order by e.id), '[]')
    into cursor, events
    from queue_event e
   where v_since is null or e.xid >= pg_snapshot_xmin(v_since)::text::bigint and not pg_visible_in_snapshot(e.xid::text::xid8, v_since);
end $$;
