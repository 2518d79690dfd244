-- steps_get: all that runs remember, in the order in which it was written: what has been done, what came, what is
-- waited for; not what a rewind has made void. Returns {"job", "bytes", "steps": [{"key", "kind", "n", "value",
-- "error", "at", "until", "seconds", "about", "other", "jobs"}]} for each of p_jobs that there is something to tell of.
-- With p_bytes it reads no more once that many were read, and returns {"job", "left": true} for each of the others: ask
-- again for those. A run that remembers far more than it may write is refused, because its reader would need memory
-- without a bound. It gets there by signals and results of children, which others write. Raises: MR019.
create or replace function steps_get(p_jobs bigint[], p_bytes bigint default null) returns setof json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_job bigint;
  v_steps text;
  v_bytes bigint;
  v_sum bigint := 0;
begin
  for v_job in select id from unnest(p_jobs) id where id is not null loop
    if v_sum >= p_bytes then
      return next json_build_object('job', v_job::text, 'left', true);
      continue;
    end if;
    v_steps := steps_read(job_slot(v_job), v_job);
    if v_steps is not null then
      v_bytes := octet_length(v_steps);
      v_sum := v_sum + v_bytes;
      if v_bytes > 4 * bound('runBytes') then
        perform run_too_large(v_job);
      end if;
      return next ('{"job":"' || v_job || '","bytes":' || v_bytes || ',"steps":[' || v_steps || ']}')::json;
    end if;
  end loop;
exception when program_limit_exceeded then  -- more than a text can hold
  perform run_too_large(v_job);
end $$;

-- run_too_large: refuse to read it. Raises: MR019.
create or replace function run_too_large(p_job bigint) returns void
language plpgsql as $$
begin
  perform raise_error('MR019', format('the run of job %s remembers more than %s bytes, which is too much to be read',
    p_job, 4 * bound('runBytes')), 'start jobs for parts of the work, and store large values in tables of your own');
end $$;

-- steps_read_00 to steps_read_31, steps_read: the steps of one job as members of a JSON list; null when there are none.
-- One function per ring child, as for claims (job_lines).
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function steps_read_%1$s(p_job bigint) returns text
      language plpgsql as $body$
      declare
        v_void constant int8multirange := (
          select range_agg(int8range(r.other, r.n)) from step_%1$s r
           where r.job_id = p_job and r.key = '#rewind' and r.kind = 'rewind');
      begin
        return (
          select string_agg('{' || concat_ws(',', '"key":' || to_json(s.key), '"kind":"' || s.kind || '"',
                   case when s.n <> 0 then '"n":"' || s.n || '"' end, '"at":' || to_json(s.at),
                   '"value":' || s.value::text, '"error":' || s.error::text, '"until":' || to_json(s.until),
                   '"seconds":' || s.seconds, '"about":' || to_json(s.about), '"other":"' || s.other || '"',
                   '"jobs":' || to_json(s.jobs::text[])) || '}', ',')
            from (select * from step_%1$s t
                   where t.job_id = p_job and (v_void is null or t.kind = 'signal' or not t.id <@ v_void)
                   order by t.id) s);
      end $body$ $function$, lpad(i::text, 2, '0'));
  end loop;
  execute 'create or replace function steps_read(p_slot smallint, p_job bigint) returns text '
    || 'language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return steps_read_%s(p_job);', i, lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;
