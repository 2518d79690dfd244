-- worker_resume: let workers take jobs again that worker_pause or worker_drain held. Ends all such orders for the
-- process, or for the name; asked again it changes nothing. Returns how many workers take jobs again because of it.
-- Writes: worker_order. Raises: MR001 (also when another order holds them still), MR022.
create or replace function worker_resume(p_process text default null, p_worker text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_process constant text := nullif(p_process, '');
  v_worker constant text := nullif(p_worker, '');
  v_count constant int := workers_named(p_process, p_worker);
  v_ended int;
  o worker_order;
begin
  delete from worker_order
   where hold is not null and concurrency is null
     and (v_process is null or process = v_process) and (v_worker is null or worker = v_worker);
  get diagnostics v_ended = row_count;
  update worker_order set hold = null
   where hold is not null and (v_process is null or process = v_process) and (v_worker is null or worker = v_worker);
  v_ended := v_ended + case when found then 1 else 0 end;
  -- an order that is wider than what was asked for
  select * into o from worker_order w
   where w.hold is not null and (v_process is null or w.process in (v_process, ''))
     and (v_worker is null or w.worker in (v_worker, ''))
     and exists (select from worker_process p cross join lateral jsonb_array_elements(p.facts -> 'workers') x
                  where p.id = coalesce(v_process, nullif(w.process, ''), p.id)
                    and x ->> 'name' = coalesce(v_worker, nullif(w.worker, ''), x ->> 'name'))
   limit 1;
  if found and v_ended = 0 then
    perform raise_error('MR001',
      format('an order for %s still holds it', concat_ws(' in ', 'worker "' || nullif(o.worker, '') || '"',
        'process "' || nullif(o.process, '') || '"')),
      'resume that; nothing was changed');
  end if;
  perform queue_notify('{!workers}');
  return case when v_ended > 0 then v_count else 0 end;
end $$;
