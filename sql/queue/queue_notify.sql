-- queue_notify: wake sleeping workers of these queues. For jobs that are enqueued it is meant for a transaction of its
-- own, after they were committed: a notification inside the caller's transaction makes commits of the whole server wait
-- for each other. What people decide now and then (a retry, a resume) wakes them itself.
create or replace function queue_notify(p_queues text[]) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  -- a channel has 63 bytes at most
  perform pg_notify('millrace:' || current_schema(), name)
    from unnest(p_queues) name
   where octet_length(current_schema()) <= 54;
end $$;
