-- job_claim: claim jobs, one row each: all that is needed to work on them, report on them and prolong the lease.
-- Locks, writes and raises as job_claim_json.
create or replace function job_claim(
  p_queues text[] default '{default}', p_types text[] default null, p_limit int default 1, p_worker text default null, p_lease_seconds float8 default null,
  p_lease_factor float8 default null, p_lease_cap_seconds float8 default null, p_max_bytes bigint default 67108864, p_track_start boolean default false, p_group_limit int default null)
returns table (job_id bigint, queue text, type text, priority int, attempt int, max_attempts int, input json, extras json,
  created_at timestamptz, token uuid, lease_ends_at timestamptz)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query
  select i.value::bigint, c.value ->> 'queue', c.value ->> 'type', (c.value ->> 'priority')::int, coalesce((c.value #>> array['attempts', (i.n - 1)::text])::int, 1),
         coalesce(c.value #>> array['maxAttempts', (i.n - 1)::text], c.value ->> 'maxAttempts')::int, c.value -> 'inputs' -> (i.n - 1)::int,
         case when json_typeof(c.value -> 'extras' -> (i.n - 1)::int) <> 'null' then c.value -> 'extras' -> (i.n - 1)::int end,
         job_created_at(i.value::bigint), (c.value ->> 'token')::uuid, (c.value ->> 'leaseEndsAt')::timestamptz
    from json_array_elements(job_claim_json(p_queues, p_types, p_limit, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap_seconds, p_max_bytes, p_track_start, p_group_limit => p_group_limit)) c
    cross join lateral json_array_elements_text(c.value -> 'ids') with ordinality i (value, n);
end $$;
