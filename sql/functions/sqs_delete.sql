-- sqs_delete: messages were worked off: [{"token", "id", "strict"}]. A strict one must still be invisible. Returns the ids that the tokens no longer hold.
-- Locks: claim rows in token order. Writes as job_complete.
create or replace function sqs_delete(p_receipts json) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_now timestamptz := clock_now();
  v_tokens uuid[] := array(select distinct x.token from json_to_recordset(p_receipts) as x (token uuid));
  v_refused bigint[] := '{}';
  r record;
begin
  if cardinality(v_tokens) > 1 then  -- one alone takes its locks in order by itself
    perform from claim where token = any (v_tokens) order by token, part for update;
  end if;
  for r in
    select x.token, array_agg(distinct x.id) filter (where c.token is not null) as held, array_agg(x.id) filter (where c.token is null) as lost
      from json_to_recordset(p_receipts) as x (token uuid, id bigint, strict boolean)
      left join claim c on c.token = x.token and x.id = any (c.jobs) and (not x.strict or c.until > v_now)
     group by x.token order by x.token
  loop
    v_refused := v_refused || r.lost;
    if r.held is not null then
      v_refused := v_refused || job_complete(r.token, r.held);
    end if;
  end loop;
  return v_refused;
end $$;

-- sqs_delete_late: messages that a token no longer held. They are cancelled, whoever has them now; strict ones are left alone. Returns the ids of strict ones that still live.
-- Locks and writes as job_cancel.
create or replace function sqs_delete_late(p_jobs bigint[], p_strict boolean) returns bigint[]
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_live bigint[] := array(select distinct id from unnest(p_jobs) id where not job_over(id));
begin
  if p_strict then
    return v_live;
  end if;
  perform job_cancel(v_live, 'deleted after its visibility timeout');
  return '{}';
end $$;

-- sqs_visibility: hide a message for so many seconds from now; 0 shows it. A token that no longer holds it will do, unless strict: then whoever has it now is given that time, or it waits.
-- Returns 'ok', 'gone', or 'beyond' when it would be invisible for more than 12 hours since it was received (in milliseconds). Locks and writes as job_set_visibility and job_amend.
create or replace function sqs_visibility(p_token uuid, p_id bigint, p_seconds float8, p_received_at float8, p_strict boolean) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now timestamptz := clock_now();
  v_token uuid;
begin
  if floor(date_part('epoch', v_now) - p_received_at / 1000) + p_seconds > 43200 then
    return 'beyond';
  end if;
  select c.token into v_token from claim c where c.token = p_token and p_id = any (c.jobs) and (not p_strict or c.until > v_now);
  if v_token is null and p_strict then
    return 'gone';
  elsif v_token is null then
    select c.token into v_token from claim c where p_id = any (c.jobs);
  end if;
  if v_token is not null and job_set_visibility(v_token, p_id, p_seconds) is not null then
    return 'ok';
  elsif p_strict or job_over(p_id) then
    return 'gone';
  elsif p_seconds > 0 then
    return case when job_amend(p_id, false, null, null, v_now + make_interval(secs => p_seconds)) then 'ok' else 'gone' end;
  end if;
  return 'ok';
end $$;
