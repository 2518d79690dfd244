-- worker_beat: a process that runs workers is alive. p_facts ({"host", "pid", "release", "workers": [{"name", "queues",
-- "types", "concurrency", "held", "running"}]}, "types" null for any, "held" absent or 'paused', 'draining', 'drained',
-- "running" where there are several workers) is given at first and when it has changed; else null. Returns {"known":
-- the database has its facts, "inSeconds": when to come again, "orders": what its workers have to do (process_orders)}:
-- every ten seconds, or all processes together once in two seconds. Commits asynchronously when it is a transaction of
-- its own. Writes: worker_process. Raises: MR001.
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
  return json_build_object('known', v_known, 'inSeconds', v_in, 'orders', process_orders(p_id));
end $$;

-- process_orders: the orders that the workers of a process have to obey, one for each of their names, as a list of
-- {"worker", "hold", "concurrency", "at", "by", "because"}. The closest order counts: for this name in this process,
-- for this process, for this name; one that says nothing of a thing leaves it to the next. "at", "by" and "because" are
-- of the order that holds, else of the one that sets the concurrency.
create or replace function process_orders(p_id text) returns json
language plpgsql stable as $$
begin
  if not exists (select from worker_order) then
    return '[]';
  end if;
  return (
    select coalesce(json_agg(json_build_object('worker', w.name, 'hold', h.hold, 'concurrency', c.concurrency,
             'at', coalesce(h.at, c.at), 'by', case when h.hold is not null then h.by else c.by end,
             'because', case when h.hold is not null then h.because else c.because end) order by w.name), '[]')
      from (select distinct x ->> 'name' as name
              from worker_process p cross join lateral jsonb_array_elements(p.facts -> 'workers') x
             where p.id = p_id) w
      left join lateral (
        select o.* from worker_order o
         where o.hold is not null and o.process in (p_id, '') and o.worker in (w.name, '')
         order by o.process = p_id and o.worker = w.name desc, o.process = p_id desc limit 1) h on true
      left join lateral (
        select o.* from worker_order o
         where o.concurrency is not null and o.process in (p_id, '') and o.worker in (w.name, '')
         order by o.process = p_id and o.worker = w.name desc, o.process = p_id desc limit 1) c on true
     where h.hold is not null or c.concurrency is not null);
end $$;

-- workers_tidy: forget processes that were not seen for a day, orders for processes that are gone, and orders for names
-- that nobody has had since a week.
create or replace function workers_tidy() returns void
language plpgsql as $$
begin
  delete from worker_process where expected_at < clock_now() - interval '1 day';
  if exists (select from worker_order) then
    delete from worker_order o
     where case when o.process <> '' then not exists (select from worker_process p where p.id = o.process)
                else o.at < clock_now() - interval '7 days'
                  and not exists (select from worker_process p
                                   where p.facts -> 'workers' @> jsonb_build_array(
                                     jsonb_build_object('name', o.worker))) end;
  end if;
end $$;
