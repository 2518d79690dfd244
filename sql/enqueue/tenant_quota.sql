-- tenant_quota: how many of p_wanted jobs a tenant may enqueue now, in multiples of p_step, where the queue has an
-- enqueueRate; they are taken out of its bucket. Fewer than p_wanted only where the others may spill over
-- (spillPriority). Enqueues of the same tenant wait for each other until they commit.
-- Locks: the bucket's row. Writes: bucket. Raises: MR001, MR015.
create or replace function tenant_quota(p_queue_id int, p_tenant text, p_rate jsonb, p_wanted int, p_step int)
  returns int
language plpgsql volatile as $$
declare
  v_key constant bigint := tenant_bucket(p_queue_id, p_tenant);
  v_level float8;
  v_granted int;
  v_wait float8;
begin
  insert into bucket (key, level, at, full_at) values (v_key, rate_burst(p_rate), clock_now(), clock_now())
  on conflict do nothing;
  perform from bucket where key = v_key for update;
  v_level := bucket_level(v_key, p_rate);
  v_granted := least(p_wanted, floor(v_level / p_step) * p_step);
  if v_granted < p_wanted and not p_rate ? 'spillPriority' then
    if p_wanted > rate_burst(p_rate) then
      perform raise_error('MR001',
        format('%s jobs of one tenant are more than the burst of %s', p_wanted, rate_burst(p_rate)),
        'enqueue fewer at once, or raise the burst of enqueueRate');
    end if;
    v_wait := ceil((p_wanted - v_level) / (p_rate ->> 'perSecond')::float8);
    perform raise_error('MR015',
      format('the tenant "%s" enqueues too much: %s jobs now, %s a second', p_tenant, floor(v_level),
        p_rate ->> 'perSecond'),
      format('try again in %s s', v_wait),
      json_build_object('retryAfterSeconds', v_wait)::text);
  end if;
  perform buckets_spend(array[v_key], array[p_rate], array[v_granted]);
  return v_granted;
end $$;
