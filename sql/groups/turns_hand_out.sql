-- turns_hand_out: the jobs of groups whose turn it is, in claims of their own for each group where what runs of groups
-- is counted. Writes: as jobs_hand_out; token buckets.
create or replace function turns_hand_out(o claim_order, g group_rules, k turns_picked, p_held bigint[],
  out claimed text, out jobs int, out bytes bigint, out tokens uuid[])
language plpgsql as $$
declare
  r constant turns_called := k.called;
  v_reading constant turns_reading := k.reading;
  -- claims name their group, so that what runs of it can be counted, and what comes back stays in it
  v_named constant boolean := groups_limited(g);
  v_used int[] := array_fill(0, array[cardinality(k.keys)]);
  h record;
  t claim_taken;
begin
  jobs := 0; bytes := 0;
  for h in
    select x.slot, array_agg(x.id order by x.id, x.i) as ids, array_agg(x.attempt order by x.id, x.i) as attempts,
           array_agg(x.version order by x.id, x.i) as versions, bool_or(x.alone) as alone, min(x.g) as g
      from (select job_slot(u.id) as slot, u.*
              from unnest(v_reading.jobs, v_reading.attempts, v_reading.versions, v_reading.alones, v_reading.groups)
                with ordinality u (id, attempt, version, alone, g, i)) x
     group by x.slot, case when o.lease_factor is not null then x.attempt end, case when v_named then x.g end,
              case when x.alone then x.id end
     order by case when g.ordered = 'batches' then min(x.g) end, min(x.i)
  loop
    t := jobs_hand_out(o, h.slot, h.ids, h.attempts, h.versions, h.alone, p_held,
      case when v_named then k.keys[h.g] end);
    if t.claimed is not null then
      claimed := coalesce(claimed || ',', '') || t.claimed;
      if g.has_costs then
        tokens := tokens || claim_token(t.claimed);
      end if;
    end if;
    jobs := jobs + t.jobs; bytes := bytes + t.bytes;
    v_used[h.g] := v_used[h.g] + t.jobs;
  end loop;
  if g.has_own or g.rate is not null then
    perform buckets_spend(array_agg(group_bucket(g.queue_id, hash_of(u.key, o.lane))), array_agg(u.rate),
              array_agg(u.used))
       from unnest(r.keys, r.rates[1:cardinality(r.keys)], v_used) u (key, rate, used) where u.rate is not null;
  end if;
end $$;
