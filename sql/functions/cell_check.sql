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
