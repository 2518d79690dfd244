-- schedule_trigger: run a schedule now, even if a run is in progress. Returns the job. Locks: the schedule's state.
-- Writes: as schedules_advance. Raises: MR016, and as job_enqueue_many.
create or replace function schedule_trigger(p_name text, p_by text default null, p_because text default null)
  returns bigint
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_slot timestamptz := date_trunc('milliseconds', clock_now());
begin
  perform schedule_must_exist(p_name);
  while exists (select from schedule_run where schedule = p_name and slot_at = v_slot)
    or exists (select from schedule_pending where schedule = p_name and slot_at = v_slot)
  loop
    v_slot := v_slot + interval '1 ms';
  end loop;
  insert into schedule_pending (schedule, slot_at, kind) values (p_name, v_slot, 'manual');
  perform schedules_advance(array[p_name]), schedule_event_add(p_name, 'triggered', v_slot, 1, p_by, p_because);
  return (select job_id from schedule_run where schedule = p_name and slot_at = v_slot);
end $$;
