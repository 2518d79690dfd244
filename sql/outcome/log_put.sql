-- log_put: what running jobs have logged lately, for whoever follows them: [{"token", "job", "lines": [text]}]. Takes
-- the place of what was put before. Jobs that the token does not hold are left out. Commits asynchronously when it is a
-- transaction of its own: of a lost line nobody depends, since the log of an attempt is stored with its end.
-- Writes: running_log. Raises: MR001.
create or replace function log_put(p_logs json) returns void
language plpgsql security definer set search_path from current set jit = off as $$
begin
  if json_typeof(p_logs) is distinct from 'array' or octet_length(p_logs::text) > bound('progressBytes') * 8 then
    perform raise_error('MR001', 'logs are a list of tokens, jobs and lines, of at most 8 MiB', null);
  end if;
  if pg_current_xact_id_if_assigned() is null then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  insert into running_log as l (job_id, token, lines, updated_at)
  select distinct on (e.job) e.job, e.token, e.lines, clock_now()
    from json_to_recordset(p_logs) e (token uuid, job bigint, lines json)
   where exists (select from claim c where c.token = e.token and e.job = any (c.jobs))
   order by e.job
  on conflict (job_id) do update
     set token = excluded.token, lines = excluded.lines, updated_at = excluded.updated_at;
end $$;

-- logs_tidy: take away what was logged by runs that have ended. Skips what somebody writes just now.
create or replace function logs_tidy() returns void
language plpgsql as $$
begin
  if not exists (select from running_log where updated_at < clock_now() - interval '10 seconds') then
    return;
  end if;
  delete from running_log where job_id in (
    select l.job_id from running_log l
     where l.updated_at < clock_now() - interval '10 seconds'
       and l.job_id not in (select unnest(c.jobs) from claim c)
     limit 10000 for update skip locked);
end $$;
