-- routes_get: where queues live, as far as this cell knows: what has a version above p_after.
create or replace function routes_get(p_after bigint default -1)
  returns table (key text, cell text, version bigint)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query select r.key, r.cell, r.version from route r where r.version > p_after order by r.key;
end $$;
