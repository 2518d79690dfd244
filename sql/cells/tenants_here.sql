-- tenants_here: those of these tenants of a spread queue whose place is this cell.
create or replace function tenants_here(p_queue text, p_tenants text[]) returns text[]
language sql stable security definer set search_path from current set jit = off as $$
  select coalesce(array_agg(t.tenant), '{}') from queue q join tenant_place t on t.queue_id = q.id
   where q.name = p_queue and t.tenant = any (p_tenants)
$$;
