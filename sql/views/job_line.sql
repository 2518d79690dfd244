-- job_line: what a claim hands out of a job row; extras (the members of a JSON object), headers and source only matter
-- where tagged. Private. One for the whole ring and one per child: a plan that knows one child only is made and run
-- much faster (job_lines).
do $do$
declare
  n text;
begin
  foreach n in array '{""}'::text[] || array(select '_' || lpad(i::text, 2, '0') from generate_series(0, 31) i) loop
    execute format($view$
      create or replace view job_line%1$s as
      select j.slot, j.id, j.input, j.max_attempts, j.start_by, j.deadline, j.headers, j.source,
             not (j.group_key is null and j.tenant is null and j.headers is null and j.deadline is null
                  and j.attempt_timeout_ms is null and j.payload_size is null and j.source is null
                  and j.schedule is null and j.fingerprint is null and j.parent is null) as tagged,
             concat_ws(',', '"group":' || to_json(j.group_key), '"tenant":' || to_json(j.tenant),
               '"deadline":' || to_json(j.deadline), '"attemptTimeoutSeconds":' || j.attempt_timeout_ms::float8 / 1000,
               '"payloadSize":' || j.payload_size,
               '"payload":"' || translate(encode(j.payload, 'base64'), E'\n', '') || '"',
               '"contentType":' || to_json(j.content_type), '"schedule":' || to_json(j.schedule),
               '"slotAt":' || to_json(j.schedule_slot), '"fingerprint":' || to_json(j.fingerprint),
               '"parent":"' || j.parent || '"') as extras,
             j.parent is not null as linked
        from job%1$s j$view$, n);
  end loop;
end $do$;
