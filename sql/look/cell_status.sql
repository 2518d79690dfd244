-- cell_status: what a client compares before it works with this schema.
create or replace function cell_status(out version int, out functions text, out restored boolean,
  out payload_limit bigint, out distributed boolean)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  select max(number) into version from migration where number > 0;
  select checksum into functions from migration where number = 0;
  select c.payload_limit into payload_limit from cell c;
  distributed := cell_is_distributed();
  restored := exists (select from cell c where c.server_id <> server_id())
    or coalesce((select max(x) > xmax_now()
         from (select floor_xid as x from cell union all select max(head_xid) from lane_cursor) known), false);
end $$;

-- cell_is_distributed: whether Citus has tables of the cell in its own hands, as a CREATE SCHEMA with schema-based
-- sharding does. Its functions then run on another server than their transaction, and jobs are lost in silence.
create or replace function cell_is_distributed() returns boolean
language plpgsql stable as $$
declare
  v_any boolean := false;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
      where c.relnamespace = current_schema()::regnamespace)' into v_any;
  end if;
  return v_any;
end $$;
