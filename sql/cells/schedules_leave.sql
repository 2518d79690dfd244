-- schedules_leave: the schedules of a queue that has left which may go on in the other cell, as text for
-- schedules_arrive; here they make no more runs. Those whose run goes on here come when it has ended, unless their runs
-- may overlap. To be asked again until all are gone (schedules_left). Locks: schedule_state in the order of names.
-- Writes: schedule_state. Raises: MR003, MR032.
create or replace function schedules_leave(p_queue text) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_names text[];
begin
  if not exists (select from queue_move m where m.queue_id = queue_id(p_queue) and m.is_leaving) then
    perform move_refuse('moving', format('queue "%s" has not moved', p_queue), 'move it first');
  end if;
  v_names := array(select s.name from schedule s where schedule_queue(s.job) = p_queue order by s.name);
  perform from schedule_state t where t.schedule = any (v_names) order by t.schedule for update;
  perform runs_settle(runs_open(v_names));
  v_names := array(select s.name from schedule s
                    where s.name = any (v_names)
                      and (s.options ->> 'overlap' = 'allow' or s.finished_at is not null or not exists (
                            select from schedule_run r where r.schedule = s.name and r.outcome is null))
                    order by s.name);
  update schedule_state set is_paused = true where schedule = any (v_names) and not is_paused;
  return coalesce((
    select json_agg(json_build_object('schedule', s, 'state', t, 'pending', coalesce((
             select json_agg(p) from schedule_pending p where p.schedule = s.name), '[]')) order by s.name)
      from schedule s join schedule_state t on t.schedule = s.name where s.name = any (v_names)), '[]');
end $$;
