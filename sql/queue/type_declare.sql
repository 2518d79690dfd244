-- type_declare: what workers say of the types they handle, [{"type", "version", "queue", "defaults", "inputSchema"}],
-- so that jobs that are enqueued without the code of a definition get its queue and defaults. The higher version holds;
-- of the same version the one that was declared last. The same again changes nothing. Returns the types of which
-- somebody has declared a higher version, which holds.
-- Writes: job_definition, in the order of types. Raises: MR001, MR004.
create or replace function type_declare(p_definitions jsonb, p_by text default null) returns text[]
language plpgsql security definer set search_path from current set jit = off as $$
declare
  d record;
  v_older text[] := '{}';
begin
  if jsonb_typeof(p_definitions) is distinct from 'array' or jsonb_array_length(p_definitions) > 10000 then
    perform raise_error('MR001', 'definitions are not an array of at most 10,000', 'give a JSON array');
  end if;
  perform name_check('declared by', left(p_by, 200));
  for d in select x.type, coalesce(x.version, 1) as version, x.queue, coalesce(x.defaults, '{}') as defaults,
                  x."inputSchema" as input_schema
             from jsonb_to_recordset(p_definitions)
                  as x (type text, version int, queue text, defaults jsonb, "inputSchema" jsonb)
            order by x.type loop
    if d.type is null or d.version not between 1 and 1000000 then
      perform raise_error('MR001', 'a definition needs a type and a version from 1 on', null);
    elsif octet_length(d.input_schema::text) > bound('optionsBytes') then
      d.input_schema := null;
    end if;
    perform name_check('type', d.type), name_check('queue', d.queue), options_check(d.defaults, 'type');
    insert into job_definition as j values (d.type, d.version, d.queue, d.defaults, d.input_schema, left(p_by, 200),
      clock_now())
    on conflict (type) do update set version = excluded.version, queue = excluded.queue, defaults = excluded.defaults,
      input_schema = excluded.input_schema, declared_by = excluded.declared_by, declared_at = excluded.declared_at
     where j.version <= excluded.version
       and (j.version, j.queue, j.defaults, j.input_schema)
         is distinct from (excluded.version, excluded.queue, excluded.defaults, excluded.input_schema);
    if exists (select from job_definition j where j.type = d.type and j.version > d.version) then
      v_older := v_older || d.type;
    end if;
  end loop;
  return v_older;
end $$;
