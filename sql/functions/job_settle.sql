-- job_settle: report several outcomes in one round trip, and claim more in the same one if asked.
-- p_settlements: [{"token", "outcome": "succeeded" | "failed" | "retry" | "released", "jobs": [ids], "results", "logs", "error", "delaySeconds"}].
-- p_claims: a list of {"queues", "types", "limit", "worker", "leaseSeconds", "leaseFactor", "leaseCapSeconds", "maxBytes", "trackStart"}, or null.
-- p_async lets the commit be asynchronous when nothing is reported: only for a transaction that does nothing else.
-- Returns {"refused": [ids no longer held], "claims": [as job_claim_json, one for each]}. Locks and writes as the single verbs. Raises: MR001, MR002.
create or replace function job_settle(p_settlements json, p_claims json default null, p_async boolean default false) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_tokens uuid[];
  v_outcomes text[];
  v_jobs text[];  -- ids of each, as an array is written
  v_results json[];
  v_logs json[];
  v_errors json[];
  v_delays float8[];
  v_refused bigint[] := '{}';
  v_claims json[] := '{}';
  v_count int;
begin
  if json_typeof(p_settlements) is distinct from 'array' or json_typeof(p_claims) <> 'array' then
    perform raise_error('MR001', 'settlements or claims are not a list', 'give a JSON array');
  end if;
  v_count := json_array_length(p_settlements);
  if v_count = 0 and pg_current_xact_id_if_assigned() is null and p_async then
    perform set_config('synchronous_commit', 'off', true);  -- only claims follow
  end if;
  begin  -- all of it is read before anything is done; this writes nothing, so that undoing it costs nothing
    if v_count > 0 then
      select array_agg(x.token), array_agg(x.outcome), array_agg(u.ids), array_agg(x.results), array_agg(x.logs), array_agg(x.error), array_agg(x."delaySeconds")
        into v_tokens, v_outcomes, v_jobs, v_results, v_logs, v_errors, v_delays
        from json_to_recordset(p_settlements) as x (token uuid, outcome text, jobs json, results json, logs json, error json, "delaySeconds" float8)
        cross join lateral (select translate(x.jobs::text, '[]"', '{}') as ids offset 0) u where cardinality(u.ids::bigint[]) is distinct from -1;
    end if;
    if p_claims is not null then
      perform from json_to_recordset(p_claims) as c (queues text[], types text[], "limit" int, worker text, "leaseSeconds" float8,
                                                     "leaseFactor" float8, "leaseCapSeconds" float8, "maxBytes" bigint, "trackStart" boolean, "groupLimit" int);
    end if;
  exception when data_exception then
    perform raise_error('MR001', format('settlements or claims: %s', left(sqlerrm, 300)), 'give objects whose members are of the right kinds');
  end;
  if v_count > 1 then  -- one alone takes its locks in order by itself
    perform from claim where token = any (v_tokens) order by token, part for update;
    perform pg_advisory_xact_lock_shared(lane_entry(lane)) from (select distinct lane from claim where token = any (v_tokens) order by lane) entered;
  end if;
  for i in 1 .. v_count loop
    v_refused := v_refused || case v_outcomes[i]
      when 'succeeded' then job_complete(v_tokens[i], v_jobs[i]::bigint[], v_results[i], v_logs[i])
      when 'failed' then job_fail(v_tokens[i], v_jobs[i]::bigint[], v_errors[i])
      when 'retry' then job_retry(v_tokens[i], v_jobs[i]::bigint[], v_errors[i], v_delays[i])
      when 'released' then job_release(v_tokens[i], v_jobs[i]::bigint[], coalesce(v_delays[i], 0))
      else raise_error('MR001', format('unknown outcome "%s"', v_outcomes[i]), 'use succeeded, failed, retry or released')::bigint[]
    end;
  end loop;
  if p_claims is not null then
    v_claims := array(
      select job_claim_json(coalesce(c.queues, '{default}'), c.types, coalesce(c."limit", 1), c.worker, c."leaseSeconds", c."leaseFactor", c."leaseCapSeconds",
                            coalesce(c."maxBytes", 67108864), coalesce(c."trackStart", false), p_group_limit => c."groupLimit")
        from json_to_recordset(p_claims) as c (queues text[], types text[], "limit" int, worker text, "leaseSeconds" float8,
                                               "leaseFactor" float8, "leaseCapSeconds" float8, "maxBytes" bigint, "trackStart" boolean, "groupLimit" int));
  end if;
  return json_build_object('refused', v_refused::text[], 'claims', v_claims);
end $$;
