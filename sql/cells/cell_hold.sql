-- cell_hold: a worker serves this cell, or would (p_way): "keep" prolongs its lease, "take" makes one, "spare"
-- makes one unless somebody else has one, "look" makes none, "leave" ends it. p_cells: how many cells it serves by
-- now. Returns {"holds", "others": how many others do, "spared": one of them serves fewer cells than this one,
-- "queues": which of p_queues are here}. Commits asynchronously when it is a transaction of its own. Locks:
-- cell_holders, with "spare". Writes: cell_lease. Raises: MR001.
create or replace function cell_hold(p_holder text, p_way text, p_cells int, p_queues text[],
  p_seconds float8 default 10) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_others int;
begin
  if p_holder is null or length(p_holder) not between 1 and 500 or p_cells is null or p_queues is null
     or p_way is null or p_way not in ('keep', 'take', 'spare', 'look', 'leave') or not p_seconds between 1 and 600 then
    perform raise_error('MR001', 'a worker, what it wants and 1 to 600 seconds are needed', null);
  end if;
  if pg_current_xact_id_if_assigned() is null then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if p_way = 'spare' then
    perform pg_advisory_xact_lock(cell_holders());
  end if;
  select count(*) into v_others from cell_lease where holder <> p_holder and until > v_now;
  if p_way = 'leave' then
    delete from cell_lease where holder = p_holder;
  elsif p_way in ('keep', 'take') or p_way = 'spare' and v_others = 0 then
    insert into cell_lease as l values (p_holder, p_cells, v_now, v_now + seconds(p_seconds))
    on conflict (holder) do update set cells = excluded.cells, until = excluded.until;
    delete from cell_lease where holder in (select holder from cell_lease where until < v_now - interval '1 hour'
      limit 100 for update skip locked);
  end if;
  return json_build_object(
    'holds', exists (select from cell_lease where holder = p_holder and until > v_now), 'others', v_others,
    'spared', exists (select from cell_lease where holder <> p_holder and until > v_now
      and (cells, holder) < (p_cells, p_holder)),
    'queues', (select coalesce(json_agg(q.name), '[]') from queue q where q.name = any (p_queues)));
end $$;

-- cell_holders: taken by the one who begins to serve a cell that nobody serves.
create or replace function cell_holders() returns bigint
language sql stable as $$ select hashint8extended(0, 'cell_lease'::regclass::oid::bigint * 4) $$;
