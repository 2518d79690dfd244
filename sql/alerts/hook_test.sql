-- hook_test: send something to a web hook now, so that somebody can see whether it arrives. Returns the job that sends
-- it. Writes: alert_event, and a job. Raises: MR024.
create or replace function hook_test(p_name text, p_by text default null) returns bigint
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform hook_found(p_name), note_check(p_by, null);
  perform alert_event_add('hook tested', p_name, null, null, null, p_by);
  return hook_enqueue(p_name, json_build_object('event', 'test', 'at', clock_now(), 'rule', null, 'kind', null,
    'subject', null, 'value', null, 'message', concat('a test', ' by ' || p_by), 'since', clock_now()));
end $$;
