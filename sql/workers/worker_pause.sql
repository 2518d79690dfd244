-- worker_pause: let workers take no more jobs, until worker_resume. They give back what they hold and have not started;
-- running handlers go on. Of a process (its id), of a name in all processes, also those that start later, or of a name
-- in one process. They are told by their next heartbeat, which this asks for at once. Pausing again changes who and
-- why; after worker_drain it is a pause. Returns how many workers it is for. Writes: worker_order. Raises: MR001,
-- MR022.
create or replace function worker_pause(p_process text default null, p_worker text default null,
  p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
begin
  return worker_order_put(p_process, p_worker, 'pause', null, p_by, p_because);
end $$;

-- worker_order_put: order workers to hold, or to run so many handlers at once. What it does not say stays as it was.
-- There are a thousand orders at most.
create or replace function worker_order_put(p_process text, p_worker text, p_hold text, p_concurrency int, p_by text,
  p_because text) returns int
language plpgsql as $$
declare
  v_count constant int := workers_named(p_process, p_worker);
begin
  perform note_check(p_by, p_because);
  if (select count(*) >= 1000 from worker_order) then
    perform raise_error('MR001', 'there are a thousand orders for workers already', 'resume some of them');
  end if;
  insert into worker_order values (coalesce(p_process, ''), coalesce(p_worker, ''), p_hold, p_concurrency, clock_now(),
      p_by, p_because)
    on conflict (process, worker) do update set hold = coalesce(excluded.hold, worker_order.hold),
      concurrency = coalesce(excluded.concurrency, worker_order.concurrency),
      -- who holds it stays who that was when somebody else changes the concurrency
      at = case when worker_order.hold = coalesce(excluded.hold, worker_order.hold) then worker_order.at
                else excluded.at end,
      by = case when excluded.hold is null and worker_order.hold is not null then worker_order.by else excluded.by end,
      because = case when excluded.hold is null and worker_order.hold is not null then worker_order.because
                     else excluded.because end;
  perform queue_notify('{!workers}');
  return v_count;
end $$;

-- workers_named: how many workers a process, a name, or a name in a process stands for. Raises: MR001, MR022.
create or replace function workers_named(p_process text, p_worker text) returns int
language plpgsql as $$
declare
  v_count int;
begin
  if nullif(p_process, '') is null and nullif(p_worker, '') is null then
    perform raise_error('MR001', 'neither a process nor a worker is named', 'give the id of a process, or a name');
  end if;
  select count(*) into v_count
    from worker_process p cross join lateral jsonb_array_elements(p.facts -> 'workers') w
   where (nullif(p_process, '') is null or p.id = p_process)
     and (nullif(p_worker, '') is null or w ->> 'name' = p_worker);
  if v_count = 0 then
    perform raise_error('MR022',
      format('there is no %s', concat_ws(' in ', 'worker "' || left(nullif(p_worker, ''), 200) || '"',
        'process "' || left(nullif(p_process, ''), 200) || '"')),
      'processes and the names of their workers are in the view "workers"');
  end if;
  return v_count;
end $$;

-- note_check: who ordered something and why fit into a line. Raises: MR001.
create or replace function note_check(p_by text, p_because text) returns void
language plpgsql immutable as $$
begin
  if length(p_by) > 200 or length(p_because) > 1000 then
    perform raise_error('MR001', 'who it is has at most 200 characters, and why at most 1000', 'say it in fewer words');
  end if;
end $$;
