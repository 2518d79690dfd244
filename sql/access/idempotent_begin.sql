-- idempotent_begin: whether a request that carries a key was answered before. Null: no; it is for this transaction to
-- do, and idempotent_end keeps its answer. Another request with the same key waits meanwhile. Otherwise the answer, or
-- {"other": true} when the key was used for another request. Keys are kept for a day; each new one lets some of the
-- oldest go. A key belongs to the role of the database that sent it: no other role learns of it, or ends it.
-- Locks: the key, and the oldest rows (skip locked). Writes: idempotent. Raises: nothing.
create or replace function idempotent_begin(p_key text, p_request text) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_key constant text := session_user || ' ' || p_key;
  v_found idempotent;
begin
  delete from idempotent
   where key = any (array(select i.key from idempotent i
                           where i.at < clock_now() - interval '1 day'
                           order by i.at limit 10 for update skip locked));
  loop
    insert into idempotent (key, request, at) values (v_key, p_request, clock_now()) on conflict (key) do nothing;
    if found then
      return null;
    end if;
    select * into v_found from idempotent where key = v_key;
    if found then  -- else it has just been forgotten
      return case when v_found.request = p_request then coalesce(v_found.answer, '{"other":true}')
                  else '{"other":true}' end;
    end if;
  end loop;
end $$;
