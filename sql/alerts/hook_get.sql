-- hook_get: the address and the secret of a web hook, for the worker that sends. Null when it was removed. Changes
-- nothing.
create or replace function hook_get(p_name text) returns json
language sql security definer set search_path from current set jit = off as $$
  select json_build_object('url', h.url, 'secret', h.secret) from hook h where h.name = p_name
$$;
