-- rate_burst: how many tokens a bucket holds: burst, or what a second brings, at least 1.
create or replace function rate_burst(p_rate jsonb) returns float8
language sql immutable parallel safe as $$ select case when p_rate is not null then coalesce((p_rate ->> 'burst')::float8, greatest(1, (p_rate ->> 'perSecond')::float8)) end $$;

-- bucket_level: the tokens in a bucket just now: full when it was never used; it fills by perSecond. Null without a rate.
create or replace function bucket_level(p_key bigint, p_rate jsonb) returns float8
language sql volatile as $$
  select case when p_rate is not null then least(rate_burst(p_rate), coalesce((
    select b.level + greatest(0, date_part('epoch', clock_now() - b.at)) * (p_rate ->> 'perSecond')::float8 from bucket b where b.key = p_key), 'infinity')) end
$$;

-- buckets_spend: take tokens out of buckets; a key may be given once. The caller has their locks, so nobody has looked into them since bucket_level. Writes: bucket.
create or replace function buckets_spend(p_keys bigint[], p_rates jsonb[], p_tokens int[]) returns void
language plpgsql as $$
begin
  insert into bucket (key, level, at, full_at)
  select u.key, b.level, b.at, b.at + make_interval(secs => least((rate_burst(u.rate) - b.level) / (u.rate ->> 'perSecond')::float8, 1e9))
    from unnest(p_keys, p_rates, p_tokens) u (key, rate, tokens) cross join lateral (select bucket_level(u.key, u.rate) - u.tokens as level, clock_now() as at) b where u.tokens > 0
  on conflict (key) do update set level = excluded.level, at = excluded.at, full_at = excluded.full_at;
end $$;

-- groups_snooze: of groups whose turn has come, remember those that have no token, and when they will have one. Writes: snooze.
create or replace function groups_snooze(p_lane bigint, p_queue_id int, p_rate jsonb, p_tracks bigint[]) returns void
language plpgsql as $$
begin
  insert into snooze (track, lane, due_at)
  select g.track, p_lane, clock_now() + make_interval(secs => least((1 - g.level) / (g.rate ->> 'perSecond')::float8, 1e9))
    from (select t.track, r.rate, bucket_level(group_bucket(p_queue_id, t.track # p_lane), r.rate) as level
            from (select distinct x & -4 as track from unnest(p_tracks) x) t
            cross join lateral (select coalesce((select s.rate from group_setting s where s.queue_id = p_queue_id and s.hash = t.track # p_lane), p_rate) as rate) r
           where r.rate is not null) g
   where g.level < 1
  on conflict (track) do nothing;
end $$;

-- groups_wake: put groups in line again that waited for tokens which are there by now. Returns how many. Locks: their rows, skipped when taken. Writes: snooze, ticket.
create or replace function groups_wake() returns int
language plpgsql as $$
declare
  v_woken int;
begin
  with due as (
    delete from snooze where track = any (array(select track from snooze where due_at <= clock_now() order by due_at limit 1000 for update skip locked)) returning *
  ), turns as (
    insert into ticket (lane, xid, slot, jobs) select lane + 2, xid_now(), ticket_slot(xid_now()), array_agg(track order by due_at) from due group by lane
  )
  select count(*) into v_woken from due;
  return v_woken;
end $$;

-- rate_check: a rate is {perSecond, burst}; an enqueueRate may have a spillPriority. Returns it unchanged. Raises: MR001.
create or replace function rate_check(p_name text, p_rate jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_key text;
  v_value jsonb;
begin
  if p_rate is null then
    return null;
  elsif jsonb_typeof(p_rate) <> 'object' or p_rate -> 'perSecond' is null then
    perform raise_error('MR001', format('%s is not a rate', p_name), 'give {"perSecond": 10}, and "burst" if more than a second''s worth may come at once');
  end if;
  perform keys_check(p_name, p_rate, '{perSecond,burst}'::text[] || case when p_name = 'enqueueRate' then array['spillPriority'] end);
  for v_key, v_value in select key, value from jsonb_each(p_rate) loop
    if v_key = 'spillPriority' then
      perform priority_check(v_value #>> '{}');
    elsif jsonb_typeof(v_value) <> 'number' or v_value::numeric <= 0 or v_value::numeric > 1e9 or (v_key = 'burst' and v_value::numeric < 1) then
      perform raise_error('MR001', format('%s: %s cannot be %s', p_name, v_key, v_value), 'perSecond is above 0, burst at least 1; to stop something, pause it');
    end if;
  end loop;
  return p_rate;
end $$;
