-- raise_error: one way to refuse, usable inside expressions; p_detail is for programs, as JSON. Never returns.
create or replace function raise_error(p_code text, p_message text, p_hint text default null,
  p_detail text default null) returns text
language plpgsql as $$
begin
  raise exception using errcode = p_code, message = p_message, hint = coalesce(p_hint, ''),
    detail = coalesce(p_detail, '');
end $$;
