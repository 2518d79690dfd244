-- retry_delay: how long to wait after attempt k failed. The last entry of a list repeats.
-- Default: 1 s doubling up to an hour, a tenth of jitter either way. p_luck: 0 for the shortest jitter, 1 for the
-- longest.
create or replace function retry_delay(p_retry jsonb, p_attempt int, p_luck float8 default random()) returns interval
language sql volatile as $$
  select seconds(case jsonb_typeof(p_retry)
    when 'number' then p_retry::float8
    when 'array' then (p_retry ->> least(greatest(p_attempt, 1), jsonb_array_length(p_retry)) - 1)::float8
    else least(
        coalesce((p_retry ->> 'base')::float8, 1)
          * exp(least((greatest(p_attempt, 1) - 1) * ln(coalesce((p_retry ->> 'factor')::float8, 2)), 60)),
        coalesce((p_retry ->> 'cap')::float8, 3600))
      * (1 + coalesce((p_retry ->> 'jitter')::float8, 0.1) * (2 * p_luck - 1))
  end)
$$;

-- ttl_computed: how many seconds attempts p_first to p_last take when each uses up its timeout: the timeouts, and the
-- delays between them. Jitter counts at its longest, so that chance never costs the last attempt. At most 1e10 (317
-- years), which is also the answer for more than 10,000 attempts.
create or replace function ttl_computed(p_retry jsonb, p_first int, p_last int, p_timeout_ms int) returns float8
language sql volatile as $$
  select case when p_last - p_first >= 10000 then 1e10
              else least((p_last - p_first + 1) * (p_timeout_ms / 1000.0)::float8
                         + coalesce(sum(date_part('epoch', retry_delay(p_retry, k, 1))), 0), 1e10) end
    from generate_series(p_first, least(p_last - 1, p_first + 10000)) k
$$;
