-- cell_check: refuse to work on logs whose transactions lie in this server's future.
-- Such logs come from a dump of another server; their cursors would hide new jobs. Raises: MR006.
create or replace function cell_check(p_known_xid bigint) returns void
language plpgsql stable as $$
begin
  if p_known_xid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint and p_known_xid > coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0) then
    perform raise_error('MR006', 'this schema was restored from another server: its transaction numbers lie in the future',
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

-- cell_is_foreign: whether the logs were written on another server and name transactions that this one has not finished: some may lie in its future,
-- and will not when it has caught up, so that looking at the numbers alone would come too late for some. All in the past: nothing is hidden by them.
create or replace function cell_is_foreign() returns boolean
language plpgsql as $$
declare
  v_known bigint;
  v_past constant bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
begin
  select greatest(floor_xid, (select max(head_xid) from lane_cursor)) into v_known from cell;
  if v_known > pg_snapshot_xmax(pg_current_snapshot())::text::bigint then
    return true;
  elsif not exists (select from cell c where c.server_id <> server_id()) then
    return false;
  end if;
  return v_known >= v_past or exists (select from ticket where xid >= v_past) or exists (select from job where xid >= v_past) or exists (select from agenda where xid >= v_past);
end $$;

-- cell_recognise: remember whose server this is; when the logs are foreign, see to it that enqueues and maintenance are refused until the repair.
-- Writes: cell. Raises: MR006.
create or replace function cell_recognise() returns void
language plpgsql as $$
begin
  if not exists (select from cell c where c.server_id is distinct from server_id()) or server_id() is null then
    return;
  elsif exists (select from cell c where c.server_id is not null) and cell_is_foreign() then
    update cell set floor_xid = 9000000000000000000;
  else
    update cell set server_id = server_id();
  end if;
end $$;
