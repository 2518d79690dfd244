-- sqs_visibility: hide a message for so many seconds from now; 0 shows it. A token that no longer holds it will do,
-- unless strict: then the one who has it now is given that time, or it waits. Returns 'ok', 'gone', or 'beyond' when it
-- would be invisible for more than 12 hours since it was received (in milliseconds). Locks and writes as
-- job_set_visibility and job_amend.
create or replace function sqs_visibility(p_token uuid, p_id bigint, p_seconds float8, p_received_at float8,
  p_strict boolean) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now timestamptz := clock_now();
  v_token uuid;
begin
  if floor(date_part('epoch', v_now) - p_received_at / 1000) + p_seconds > 43200 then
    return 'beyond';
  end if;
  select c.token into v_token
    from claim c
   where c.token = p_token and p_id = any (c.jobs) and (not p_strict or c.until > v_now);
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
    return case when job_amend(p_id, false, null, null, v_now + make_interval(secs => p_seconds)) then 'ok'
                else 'gone' end;
  end if;
  return 'ok';
end $$;
