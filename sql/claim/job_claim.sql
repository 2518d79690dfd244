-- job_claim: claim jobs, one row each: all that is needed to work on them, report on them and prolong the lease.
-- Locks, writes and raises as job_claim_json.
create or replace function job_claim(
  p_queues text[] default '{default}', p_types text[] default null, p_limit int default 1, p_worker text default null,
    p_lease_seconds float8 default null,
  p_lease_factor float8 default null, p_lease_cap_seconds float8 default null, p_max_bytes bigint default 67108864,
    p_track_start boolean default false, p_group_limit int default null)
returns table (job_id bigint, queue text, type text, priority int, attempt int, max_attempts int, input json,
  extras json,
  created_at timestamptz, token uuid, lease_ends_at timestamptz)
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return query
  select u.id::bigint, c.queue, c.type, c.priority, coalesce(u.attempt::int, 1),
    coalesce(u.most, case when json_typeof(c.most) = 'number' then c.most #>> '{}' end)::int, u.input,
    case when json_typeof(u.extras) <> 'null' then u.extras end,
         job_created_at(u.id::bigint), c.token, c.lease_ends_at
    from json_array_elements(job_claim_json(p_queues, p_types, p_limit, p_worker, p_lease_seconds, p_lease_factor,
      p_lease_cap_seconds, p_max_bytes, p_track_start, p_group_limit => p_group_limit)) v
    cross join lateral (select v.value ->> 'queue' as queue, v.value ->> 'type' as type,
      (v.value ->> 'priority')::int as priority, v.value -> 'maxAttempts' as most,
                               -- once for each claim: it has all of its inputs
                               (v.value ->> 'token')::uuid as token, (v.value
                                 ->> 'leaseEndsAt')::timestamptz as lease_ends_at offset 0) c
    cross join lateral rows from (json_array_elements_text(v.value -> 'ids'), json_array_elements(v.value -> 'inputs'),
      json_array_elements(v.value -> 'extras'),
                                  json_array_elements_text(v.value -> 'attempts'),
                                    json_array_elements_text(case when json_typeof(c.most) = 'array' then c.most end))
                       u (id, input, extras, attempt, most);
end $$;
