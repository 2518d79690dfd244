-- cell_check: refuse to work on logs whose transactions lie in this server's future.
-- Such logs come from a dump of another server; their cursors would hide new jobs. Raises: MR006.
create or replace function cell_check(p_known_xid bigint) returns void
language plpgsql stable as $$
begin
  if p_known_xid > xmax_now() and p_known_xid > coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0) then
    perform raise_error('MR006',
      'this schema was restored from another server: its transaction numbers lie in the future',
      'run "millrace repair" (or select cell_repair()) once, while nothing else runs');
  end if;
end $$;

-- server_id: what tells this server from others; null when we may not know. A replica shares its primary's.
create or replace function server_id() returns bigint
language plpgsql stable as $$
begin
  return (pg_control_system()).system_identifier;
exception when insufficient_privilege then
  return null;
end $$;

-- server_known: the server this session is on, as text; '-' when we may not know. Read once per session, because it
-- costs a look at a file: a session stays where it was opened.
create or replace function server_known() returns text
language plpgsql as $$
begin
  return coalesce(nullif(current_setting('millrace.server', true), ''),
    set_config('millrace.server', coalesce(server_id()::text, '-'), false));
end $$;

-- cell_at_home: refuse to work where another server wrote the logs. That its numbers lie in this one's future can only
-- be seen until this one has caught up, so the server's identity is compared: p_home, which the caller has read with
-- what else it needs of the cell, so that a session that was here before a repair learns of it too. To be called where
-- that is not what the session knows (millrace.server).
-- Raises: MR006.
create or replace function cell_at_home(p_home bigint) returns void
language plpgsql as $$
begin
  if p_home::text <> nullif(server_known(), '-') then
    perform raise_error('MR006', 'this schema was restored from another server, or the server was upgraded',
      'run "millrace repair" (or select cell_repair()) once, while nothing else runs');
  end if;
end $$;
