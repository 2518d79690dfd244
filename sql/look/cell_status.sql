-- cell_status: what a client compares before it works with this schema.
create or replace function cell_status(out version int, out functions text, out restored boolean,
  out payload_limit bigint)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  select max(number) into version from migration where number > 0;
  select checksum into functions from migration where number = 0;
  select c.payload_limit into payload_limit from cell c;
  restored := exists (select from cell c where c.server_id <> server_id())
    or coalesce((select max(x) > xmax_now()
         from (select floor_xid as x from cell union all select max(head_xid) from lane_cursor) known), false);
end $$;
