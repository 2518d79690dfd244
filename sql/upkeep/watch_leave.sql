-- watch_leave: the worker looks no more; if it kept the watch, those who stand by are called. Locks and writes: duty.
create or replace function watch_leave(p_id text) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update duty d set holder = (select coalesce(jsonb_object_agg(k.key, k.value), '{}') from jsonb_each(d.holder::jsonb) k
      where k.value ->> 'id' <> p_id)::text
    where d.name = 'watch' and exists (select from jsonb_each(d.holder::jsonb) k where k.value ->> 'id' = p_id);
  if found then
    perform watch_call();
  end if;
end $$;
