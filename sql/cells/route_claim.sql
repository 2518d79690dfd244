-- route_claim: say where a queue lives that has no route yet; one that is there stays. Answers with what holds.
-- Locks: the route's row. Writes: route. Raises: MR001.
create or replace function route_claim(p_key text, p_cell text, out cell text, out version bigint)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  select r.cell, r.version into route_claim.cell, route_claim.version from route_put(p_key, p_cell, 0) r;
end $$;
