-- queue_fail: pause a queue because a job of it failed for good (onFailure). Never waits: each failure has a row of its
-- own. Writes: pause, queue_event.
create or replace function queue_fail(p_lane bigint, p_job_id bigint, p_outcome job_outcome, p_error json) returns void
language plpgsql as $$
declare
  q record;
  v_because text;
begin
  select c.id, c.name into q from lane l join queue c on c.id = l.queue_id where l.key = p_lane;
  v_because := format('job %s %s%s', p_job_id,
    case p_outcome when 'expired' then 'expired' when 'lost' then 'was lost' else 'failed' end,
    coalesce(': ' || left(p_error ->> 'message', 500), ''));
  insert into pause (queue_id, paused_at, paused_by, paused_because, job_id)
  values (q.id, clock_now(), 'millrace', v_because, p_job_id)
  on conflict (queue_id, coalesce(type, ''), coalesce(group_key, ''), coalesce(job_id, 0))
    do update set paused_at = excluded.paused_at, paused_because = excluded.paused_because;
  perform queue_event_add(q.name, 'paused', 'millrace', v_because, null, null, p_job_id);
end $$;
