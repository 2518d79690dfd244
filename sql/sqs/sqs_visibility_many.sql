-- sqs_visibility_many: hide messages that their tokens hold: [{"token", "id", "seconds", "receivedAt", "strict"}], as
-- sqs_visibility. Returns what became of each: 'ok', 'beyond', or 'late' when the token no longer holds it. Late ones
-- are for sqs_visibility, each alone: that may wait for somebody's transaction.
-- Locks: claim rows in token order. Writes as job_set_visibility.
create or replace function sqs_visibility_many(p_changes json) returns text[]
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_now();
  v_results text[] := '{}';
  r record;
begin
  perform from claim
    where token = any (array(select x.token from json_to_recordset(p_changes) as x (token uuid))) order by token, part
    for update;
  for r in
    select x.token, x.id, x.seconds, x.strict as is_strict,
           floor(date_part('epoch', v_now) - x."receivedAt" / 1000) + x.seconds > 43200 as is_beyond
      from json_array_elements(p_changes) with ordinality e (value, i)
     cross join lateral json_to_record(e.value)
        as x (token uuid, id bigint, seconds float8, "receivedAt" float8, strict boolean)
     order by e.i
  loop
    v_results := v_results || case
      when r.is_beyond then 'beyond'
      when exists (select from claim c
        where c.token = r.token and r.id = any (c.jobs) and (not r.is_strict or c.until > v_now))
        and job_set_visibility(r.token, r.id, r.seconds) is not null then 'ok'
      else 'late' end;
  end loop;
  return v_results;
end $$;
