-- route_put: say in which cell a queue lives, or a tenant of it (queue/tenant). Stored when its version is above that
-- of what is stored; of two with the same version the first stays. Answers with what is stored then.
-- Locks: the route's row. Writes: route. Raises: MR001.
create or replace function route_put(p_key text, p_cell text, p_version bigint, out cell text, out version bigint)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform cell_name_check(p_cell);
  if p_key is null or length(p_key) not between 1 and 400 or p_version is null or p_version < 0 then
    perform raise_error('MR001', 'a route needs a key of 1 to 400 characters, and a version',
      'give the name of a queue, or queue/tenant');
  end if;
  insert into route as r (key, cell, version) values (p_key, p_cell, p_version)
  on conflict (key) do update set cell = excluded.cell, version = excluded.version
   where r.version < excluded.version;
  select r.cell, r.version into route_put.cell, route_put.version from route r where r.key = p_key;
end $$;

-- cell_name_check: the name of a cell. Raises: MR001.
create or replace function cell_name_check(p_name text) returns text
language plpgsql immutable as $$
begin
  if p_name is null or p_name !~ '^[a-z][a-z0-9-]{0,30}$' then
    return raise_error('MR001', format('"%s" cannot name a cell', left(p_name, 100)),
      'use 1 to 31 small letters, digits and -, beginning with a letter');
  end if;
  return p_name;
end $$;
