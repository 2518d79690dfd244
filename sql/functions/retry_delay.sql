-- retry_delay: how long to wait after attempt k failed. The last entry of a list repeats.
-- Default: 1 s doubling up to an hour, a tenth of jitter either way.
create or replace function retry_delay(p_retry jsonb, p_attempt int) returns interval
language sql volatile as $$
  select make_interval(secs => case jsonb_typeof(p_retry)
    when 'number' then p_retry::float8
    when 'array' then (p_retry ->> least(greatest(p_attempt, 1), jsonb_array_length(p_retry)) - 1)::float8
    else least(
        coalesce((p_retry ->> 'base')::float8, 1)
          * exp(least((greatest(p_attempt, 1) - 1) * ln(coalesce((p_retry ->> 'factor')::float8, 2)), 60)),
        coalesce((p_retry ->> 'cap')::float8, 3600))
      * (1 + coalesce((p_retry ->> 'jitter')::float8, 0.1) * (2 * random() - 1))
  end)
$$;
