-- worker_beat: a process that runs workers is alive. p_facts ({"host", "pid", "release", "workers": [{"name",
-- "queues", "types", "concurrency"}]}, "types" null for any) is given at first and when it has changed; else null.
-- Returns {"known": the database has its facts, "inSeconds": when to come again}: every ten seconds, or all processes
-- together once in two seconds. Commits asynchronously when it is a transaction of its own.
-- Writes: worker_process. Raises: MR001.
create or replace function worker_beat(p_id text, p_facts jsonb, p_running int, p_memory_bytes bigint,
  p_stalled_seconds float8 default 0) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_in float8;
  v_known boolean;
begin
  if p_id is null or length(p_id) not between 1 and 500 or p_running is null or p_memory_bytes is null
     or p_stalled_seconds is null then
    perform raise_error('MR001', 'a process needs an id of 1 to 500 characters, and numbers', null);
  elsif p_facts is not null and (jsonb_typeof(p_facts -> 'workers') is distinct from 'array'
                                 or length(p_facts::text) > 1000000) then
    perform raise_error('MR001', 'the facts of a process name its workers, in at most 1,000,000 characters', null);
  end if;
  if pg_current_xact_id_if_assigned() is null then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  v_in := least(greatest(10, (select 2 * count(*) from worker_process where expected_at > v_now)), 300);
  update worker_process set running = p_running, memory_bytes = p_memory_bytes, stalled_seconds = p_stalled_seconds,
    seen_at = v_now, expected_at = v_now + seconds(2 * v_in + 5) where id = p_id;
  v_known := found;
  if p_facts is not null then
    insert into worker_process values (p_id, p_facts, p_running, p_memory_bytes, p_stalled_seconds, v_now, v_now,
      v_now + seconds(2 * v_in + 5)) on conflict (id) do update set facts = excluded.facts;
    v_known := true;
  end if;
  return json_build_object('known', v_known, 'inSeconds', v_in);
end $$;

-- workers_tidy: forget processes that were not seen for a day.
create or replace function workers_tidy() returns void
language sql as $$
  delete from worker_process where expected_at < clock_now() - interval '1 day'
$$;
