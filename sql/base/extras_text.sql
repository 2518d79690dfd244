-- extras_text: the extras of a claimed job, with its headers and source exactly as they were given, nulls inside included.
create or replace function extras_text(p_extras text, p_headers json, p_source json) returns text
language sql immutable parallel safe as $$
  select '{' || concat_ws(',', nullif(substr(p_extras, 2, length(p_extras) - 2), ''), '"headers":' || p_headers::text, '"source":' || p_source::text) || '}'
$$;
