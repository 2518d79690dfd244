-- job_claim: claim jobs, one row each: all that is needed to work on them, report on them and prolong the lease.
-- Locks, writes and raises as job_claim_json.
create or replace function job_claim(
  p_queues text[] default '{default}', p_types text[] default null, p_limit int default 1, p_worker text default null, p_lease_seconds float8 default null,
  p_lease_factor float8 default null, p_lease_cap_seconds float8 default null, p_max_bytes bigint default 67108864, p_track_start boolean default false)
returns table (job_id bigint, queue text, type text, priority int, attempt int, max_attempts int, input json, extras json,
  created_at timestamptz, token uuid, lease_ends_at timestamptz)
language plpgsql security definer set search_path from current as $$
begin
  return query
  select (e.value ->> 0)::bigint, c.value ->> 'queue', c.value ->> 'type', (c.value ->> 'priority')::int, (e.value ->> 1)::int, (e.value ->> 2)::int,
         e.value -> 3, case when json_typeof(e.value -> 4) <> 'null' then e.value -> 4 end,
         job_created_at((e.value ->> 0)::bigint), (c.value ->> 'token')::uuid, (c.value ->> 'leaseEndsAt')::timestamptz
    from json_array_elements(job_claim_json(p_queues, p_types, p_limit, p_worker, p_lease_seconds, p_lease_factor, p_lease_cap_seconds, p_max_bytes, p_track_start)) c
    cross join lateral json_array_elements(c.value -> 'jobs') e;
end $$;
