-- sqs_delete: messages were worked off: [{"token", "id", "strict"}]. A strict one must still be invisible. Returns the
-- ids that the tokens no longer hold.
-- Locks: claim rows in token order. Writes as job_complete.
create or replace function sqs_delete(p_receipts json) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
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
    select x.token, array_agg(distinct x.id) filter (where c.token is not null) as held,
           array_agg(x.id) filter (where c.token is null) as lost
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
