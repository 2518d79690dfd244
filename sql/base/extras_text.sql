-- extras_text: the extras of a claimed job (job_line), with its headers and source exactly as they were given, nulls
-- inside included. Each argument is used once, and no volatility is promised that concat_ws does not have: so that it
-- is inlined.
create or replace function extras_text(p_extras text, p_headers json, p_source json) returns text
language sql stable parallel safe as $$
  select '{'
    || concat_ws(',', nullif(p_extras, ''), '"headers":' || p_headers::text, '"source":' || p_source::text)
    || '}'
$$;
