-- idempotent_end: keep the answer for those who ask again. Writes: idempotent.
create or replace function idempotent_end(p_key text, p_answer json) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  update idempotent set answer = p_answer where key = session_user || ' ' || p_key;
end $$;
