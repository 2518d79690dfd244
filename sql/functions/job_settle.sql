-- job_settle: report several outcomes in one round trip, and claim more in the same one if asked.
-- p_settlements: [{"token", "outcome": "succeeded" | "failed" | "retry" | "released", "jobs": [ids], "results", "logs", "error", "delaySeconds"}].
-- p_claims: a list of {"queues", "types", "limit", "worker", "leaseSeconds", "leaseFactor", "leaseCapSeconds", "maxBytes", "trackStart"}, or null.
-- p_async lets the commit be asynchronous when nothing is reported: only for a transaction that does nothing else.
-- Returns {"refused": [ids no longer held], "claims": [as job_claim_json, one for each]}. Locks and writes as the single verbs. Raises: MR001, MR002.
create or replace function job_settle(p_settlements json, p_claims json default null, p_async boolean default false) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  s record;
  v_jobs bigint[];
  v_refused bigint[] := '{}';
  v_claims json[] := '{}';
  v_tokens uuid[];
  v_count int;
begin
  if json_typeof(p_settlements) is distinct from 'array' then
    perform raise_error('MR001', 'settlements are not a list', 'give a JSON array');
  end if;
  v_count := json_array_length(p_settlements);
  if v_count = 0 and pg_current_xact_id_if_assigned() is null and p_async then
    perform set_config('synchronous_commit', 'off', true);  -- only claims follow
  end if;
  if v_count > 1 then  -- one alone takes its locks in order by itself
    v_tokens := array(select x.token from json_to_recordset(p_settlements) as x (token uuid));
    perform from claim where token = any (v_tokens) order by token, part for update;
    perform pg_advisory_xact_lock_shared(lane_entry(lane)) from (select distinct lane from claim where token = any (v_tokens) order by lane) entered;
  end if;
  if v_count > 0 then
    for s in select * from json_to_recordset(p_settlements) as x (token uuid, outcome text, jobs json, results json, logs json, error json, "delaySeconds" float8) loop
      v_jobs := translate(s.jobs::text, '[]"', '{}');
      v_refused := v_refused || case s.outcome
        when 'succeeded' then job_complete(s.token, v_jobs, s.results, s.logs)
        when 'failed' then job_fail(s.token, v_jobs, s.error)
        when 'retry' then job_retry(s.token, v_jobs, s.error, s."delaySeconds")
        when 'released' then job_release(s.token, v_jobs, coalesce(s."delaySeconds", 0))
        else raise_error('MR001', format('unknown outcome "%s"', s.outcome), 'use succeeded, failed, retry or released')::bigint[]
      end;
    end loop;
  end if;
  if p_claims is not null then
    v_claims := array(
      select job_claim_json(coalesce(c.queues, '{default}'), c.types, coalesce(c."limit", 1), c.worker, c."leaseSeconds", c."leaseFactor", c."leaseCapSeconds",
                            coalesce(c."maxBytes", 67108864), coalesce(c."trackStart", false), p_group_limit => c."groupLimit")
        from json_to_recordset(p_claims) as c (queues text[], types text[], "limit" int, worker text, "leaseSeconds" float8,
                                               "leaseFactor" float8, "leaseCapSeconds" float8, "maxBytes" bigint, "trackStart" boolean, "groupLimit" int));
  end if;
  return json_build_object('refused', v_refused::text[], 'claims', v_claims);
end $$;
