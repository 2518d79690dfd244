-- queue_event_add: note what happened to a queue, and tell the listeners of the channel millrace:SCHEMA:events. Rare
-- enough to notify from inside the transaction.
-- Writes: queue_event.
create or replace function queue_event_add(p_queue text, p_event text, p_by text default null,
  p_because text default null, p_type text default null, p_group text default null, p_job_id bigint default null,
  p_stage text default null, p_jobs int default null) returns void
language plpgsql as $$
begin
  insert into queue_event (at, queue, event, by, because, type, group_key, job_id, stage, jobs)
  values (clock_now(), p_queue, p_event, p_by, p_because, p_type, p_group, p_job_id, p_stage, p_jobs);
  if octet_length(current_schema()) <= 47 then  -- a channel has 63 bytes at most
    perform pg_notify('millrace:' || current_schema() || ':events', p_queue || ' ' || p_event);
  end if;
end $$;
