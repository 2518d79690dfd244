-- job_below: how many jobs end with a job when it is cancelled: those it has started, unless they were started to go on
-- by themselves, those that wait for its success, and what is below each of them. Counted as it is now, up to 10,000:
-- there are more where is_exact is false. Raises: MR002.
create or replace function job_below(p_job bigint) returns table (jobs int, is_exact boolean)
language plpgsql stable security definer set search_path from current set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_most constant int := 10000;
  v_level bigint[] := array[p_job];
  v_all bigint[] := array[p_job];
begin
  perform job_must_exist(array[p_job]);
  while v_level <> '{}' and cardinality(v_all) - 1 <= v_most loop
    v_level := array(
      select x.id
        from (select u.id from unnest(v_level) l (id)
                join step s on s.slot = job_slot(l.id) and s.job_id = l.id and s.kind = 'started'
                 and s.about is distinct from 'detached'
                cross join lateral unnest(s.jobs) u (id)
              union
              select e.waiter from unnest(v_level) l (id)
                join edge e on e.slot = job_slot(l.id) and e.target = l.id
                join agenda g on g.job_id = e.waiter and g.waits ->> 'when' = 'succeeded'
              except
              select unnest(v_all)) x
       where not job_over(x.id)
       limit v_most + 1);
    v_all := v_all || v_level;
  end loop;
  return query select least(cardinality(v_all) - 1, v_most), cardinality(v_all) - 1 <= v_most;
end $$;
