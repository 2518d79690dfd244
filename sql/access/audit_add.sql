-- audit_add: note what somebody did through the server, in the transaction that does it. The newest 100,000 entries of
-- the last 90 days are kept: each new one lets some of the oldest go. Only a role that is an admin may say who it was;
-- of others the role of the database is told too. p_before, p_after: of settings, those that it has changed.
-- Locks: the oldest rows (skip locked). Writes: audit. Raises: nothing.
create or replace function audit_add(p_who text, p_action text, p_object text, p_result text,
  p_count bigint default null, p_address text default null, p_request_id text default null,
  p_because text default null, p_before json default null, p_after json default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id bigint;
begin
  insert into audit (at, who, action, object, result, count, address, request_id, because, before, after)
  values (clock_now(),
          case when has_function_privilege(session_user, 'queue_put(text, jsonb)', 'execute') then p_who
               else session_user || ': ' || p_who end,
          p_action, p_object, p_result, p_count, p_address, p_request_id, p_because, p_before, p_after)
  returning id into v_id;
  delete from audit where id = any (array(
    select a.id from audit a
     where a.id <= v_id - 100000 or a.at < clock_now() - interval '90 days'
     order by a.id limit 10 for update skip locked));
end $$;
