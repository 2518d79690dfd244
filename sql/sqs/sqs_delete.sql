-- sqs_delete: messages were worked off. p_ids are those of the first token, then those of the second, and so on, each
-- token's in the order of their numbers; p_counts tells how many each has, p_strict whether they must still be
-- invisible. Tokens are given once each, in their order. Returns the ids that the tokens no longer hold.
-- Locks: claim rows in token order. Writes as job_complete.
create or replace function sqs_delete(p_tokens uuid[], p_counts int[], p_strict boolean[], p_ids bigint[])
  returns bigint[]
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_now();
  v_refused bigint[] := '{}';
  v_at int := 0;
  v_ids bigint[];
  v_held bigint[];
begin
  if cardinality(p_tokens) > 1 then  -- one alone takes its locks in order by itself
    perform from claim where token = any (p_tokens) order by token, part for update;
  end if;
  for i in 1 .. cardinality(p_tokens) loop
    v_ids := p_ids[v_at + 1 : v_at + p_counts[i]];
    v_at := v_at + p_counts[i];
    v_held := array(select unnest(c.jobs) from claim c
      where c.token = p_tokens[i] and (not p_strict[i] or c.until > v_now));
    if v_ids <@ v_held then
      v_refused := v_refused || job_complete(p_tokens[i], v_ids);
    else
      v_refused := v_refused || array(select u.id from unnest(v_ids) u (id) where u.id <> all (v_held));
      v_ids := array(select u.id from unnest(v_ids) u (id) where u.id = any (v_held));
      if v_ids <> '{}' then
        v_refused := v_refused || job_complete(p_tokens[i], v_ids);
      end if;
    end if;
  end loop;
  return v_refused;
end $$;
