-- buckets_spend: take tokens out of buckets; a key may be given once. The caller has their locks, so nobody has looked
-- into them since bucket_level. Writes: bucket.
create or replace function buckets_spend(p_keys bigint[], p_rates jsonb[], p_tokens int[]) returns void
language plpgsql as $$
begin
  insert into bucket (key, level, at, full_at)
  select u.key, b.level, b.at, b.at + make_interval(secs
    => least((rate_burst(u.rate) - b.level) / (u.rate ->> 'perSecond')::float8, 1e9))
    from unnest(p_keys, p_rates, p_tokens) u (key, rate, tokens)
      cross join lateral (select bucket_level(u.key, u.rate) - u.tokens as level, clock_now() as at) b
      where u.tokens > 0
  on conflict (key) do update set level = excluded.level, at = excluded.at, full_at = excluded.full_at;
end $$;

-- rate_burst: how many tokens a bucket holds: burst, or what a second brings, at least 1.
create or replace function rate_burst(p_rate jsonb) returns float8
language sql immutable parallel safe as $$
  select case when p_rate is not null then coalesce((p_rate ->> 'burst')::float8,
    greatest(1, (p_rate ->> 'perSecond')::float8)) end
$$;

-- bucket_level: the tokens in a bucket just now: full when it was never used; it fills by perSecond. Null without a
-- rate.
create or replace function bucket_level(p_key bigint, p_rate jsonb) returns float8
language sql volatile as $$
  select case when p_rate is not null then least(rate_burst(p_rate), coalesce((
    select b.level + greatest(0, date_part('epoch', clock_now() - b.at)) * (p_rate ->> 'perSecond')::float8
      from bucket b where b.key = p_key), 'infinity')) end
$$;
