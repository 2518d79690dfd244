-- job_settle: report several outcomes in one round trip, and claim more in the same one if asked.
-- p_settlements: [{"token", "outcome": "succeeded" | "failed" | "retryLater" | "released" | "suspended", "jobs": [ids],
-- "results", "logs", "error", "delaySeconds", "waits", "steps"}].
-- p_claims: a list of {"queues", "types", "limit", "worker", "leaseSeconds", "leaseFactor", "leaseCapSeconds",
-- "maxBytes", "trackStart"}, or null. p_async lets the commit be asynchronous when nothing is reported: only for a
-- transaction that does nothing else; then what waits for a few of the jobs goes on in it too, and may be claimed.
-- Returns {"refused": [ids no longer held], "claims": [as job_claim_json, one for each], "delivered": nobody needs to
-- deliver what this has told}. Locks and writes as the single verbs, and notices_settle. Raises: MR001, MR002.
create or replace function job_settle(p_settlements json, p_claims json default null, p_async boolean default false)
  returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_settlements settlement[];
  v_requests claim_request[];
  s settlement;
  c claim_request;
  v_jobs bigint[];
  v_refused bigint[] := '{}';
  v_suspended settlement[];
  v_claims json[] := '{}';
  v_few constant int := 10;  -- what tells of more is delivered by others meanwhile, and does not wait for it
  v_resumed bigint[];
  v_queues text[];
  v_delivered boolean := false;
  v_async constant boolean := p_async and p_settlements::text = '[]' and pg_current_xact_id_if_assigned() is null;
begin
  if json_typeof(p_settlements) is distinct from 'array' or json_typeof(p_claims) <> 'array' then
    perform raise_error('MR001', 'settlements or claims are not a list', 'give a JSON array');
  end if;
  begin  -- all of it is read before anything is done; this writes nothing, so that undoing it costs nothing
    v_settlements := array(select x from json_populate_recordset(null::settlement, p_settlements) x);
    v_requests := array(select x from json_populate_recordset(null::claim_request, p_claims) x);
    foreach s in array v_settlements loop
      v_jobs := ids_of(s.jobs);
    end loop;
  exception when data_exception or program_limit_exceeded or statement_too_complex then
    perform raise_error('MR001', format('settlements or claims: %s', left(sqlerrm, 300)),
      'give objects whose members are of the right kinds');
  end;
  if cardinality(v_settlements) > 1 then  -- one alone takes its locks in order by itself
    perform from claim where token = any (array(select x.token from unnest(v_settlements) x)) order by token, part
      for update;
    perform pg_advisory_xact_lock_shared(lane_entry(lane)) from (
      select distinct lane from claim where token = any (array(select x.token from unnest(v_settlements) x))
        order by lane) entered;
  end if;
  foreach s in array v_settlements loop
    continue when s.outcome = 'suspended';  -- all of them together, in the end
    if cardinality(v_settlements) > 1 then
      v_jobs := ids_of(s.jobs);
    end if;
    v_refused := v_refused || case s.outcome
      when 'succeeded' then job_complete(s.token, v_jobs, s.results, s.logs)
      when 'failed' then job_fail(s.token, v_jobs, s.error)
      when 'retryLater' then job_retry_later(s.token, v_jobs, s.error, s."delaySeconds")
      when 'released' then job_release(s.token, v_jobs, coalesce(s."delaySeconds", 0))
      else raise_error('MR001', format('unknown outcome "%s"', s.outcome),
        'use succeeded, failed, retryLater, released or suspended')::bigint[]
    end;
  end loop;
  v_suspended := array(select x from unnest(v_settlements) x where x.outcome = 'suspended');
  if cardinality(v_suspended) > 0 then
    v_refused := v_refused || runs_suspend(v_suspended);
  end if;
  if p_async and notices_told() between 1 and v_few then
    select * into v_resumed, v_queues, v_delivered from notices_settle();
  end if;
  foreach c in array v_requests loop
    c.queues := coalesce(c.queues, '{default}');
    c."limit" := coalesce(c."limit", 1);
    c."maxBytes" := coalesce(c."maxBytes", 67108864);
    c."trackStart" := coalesce(c."trackStart", false);
    v_claims := v_claims || claim_do(c, v_async, cardinality(v_claims) = 0, true);
  end loop;
  if v_queues is not null and exists (
    select from unnest(v_resumed) u (id) where not exists (select from claim k where u.id = any (k.jobs))) then
    perform queue_notify(v_queues);
  end if;
  return json_build_object('refused', v_refused::text[], 'claims', v_claims, 'delivered', v_delivered);
end $$;

-- ids_of: a JSON list of ids, quoted or not, as an array. Brackets are all that makes it another thing than the text of
-- an array. (One replace for each: translate looks at every character, a third of what a report of 1000 cost.) Inlined.
create or replace function ids_of(p_ids json) returns bigint[]
language sql immutable parallel safe as $$
  select replace(replace(p_ids::text, '[', '{'), ']', '}')::bigint[]
$$;
