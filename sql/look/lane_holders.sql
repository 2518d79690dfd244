-- lane_holders: sessions that have held a lock of our lanes (lane_lock, lane_flag, lane_entry, lane_birth, lane_spares)
-- for so long: since their transaction began, or since they connected when they hold it outside of a transaction, which
-- we never do.
-- Everybody who may connect can take such a lock, and nobody claims from the lane meanwhile.
-- Of sessions whose times the owner of the schema may not see (pg_read_all_stats), only those outside of a transaction
-- are told, without a time. Lanes are read only when there is such a session.
create or replace function lane_holders(p_seconds float8)
  returns table (pid int, role name, app text, since timestamptz, age_ms float8, lanes bigint)
language plpgsql volatile security definer set search_path from current set jit = off as $$
begin
  return query
  with held as materialized (
    select l.pid, (l.classid::bigint << 32) | l.objid::bigint as key, a.usename, a.application_name,
           coalesce(a.xact_start, a.backend_start) as since
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory'
       and l.objsubid = 1
       and l.granted
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (coalesce(a.xact_start, a.backend_start) < clock_timestamp() - seconds(p_seconds)
            or a.backend_start is null and l.virtualtransaction like '%/0')
  ), ours as materialized (
    select x.lane, x.key from lane_known k
      cross join lateral (values (k.key, lane_lock(k.key)), (k.key, lane_flag(k.key)), (k.key, lane_entry(k.key)),
                          (k.key, lane_birth(k.key)),
                          (k.key, lane_spares(k.key))) x (lane, key)
     where exists (select from held)
  )
  select h.pid, h.usename, coalesce(h.application_name, ''), h.since,
         extract(epoch from clock_timestamp() - h.since)::float8 * 1000, count(distinct o.lane)
    from held h join ours o on o.key = h.key group by 1, 2, 3, 4 order by 6 desc, 1 limit 10;
end $$;
