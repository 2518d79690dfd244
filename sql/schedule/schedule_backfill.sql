-- schedule_backfill: make runs for past slots, p_concurrency of them at once. Slots that have a run are left out.
-- Returns how many there will be. Locks: the schedule's state.
-- Writes: as schedules_advance. Raises: MR001, MR016.
create or replace function schedule_backfill(p_name text, p_slots_ms bigint[], p_concurrency int default 1,
  p_by text default null, p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_batch bigint := nextval('schedule_batch_seq');
  v_slots int;
begin
  perform schedule_must_exist(p_name);
  if p_concurrency is null or p_concurrency not between 1 and 1000 then
    perform raise_error('MR001', format('a concurrency of %s is not possible', p_concurrency), 'give 1 to 1,000');
  elsif cardinality(p_slots_ms) > 10000 then
    perform raise_error('MR001', 'a backfill has up to 10,000 slots', 'give a shorter range');
  elsif exists (select from unnest(p_slots_ms) ms where ms is null or ms_at(ms) > clock_now()) then
    perform raise_error('MR001', 'a backfill is of the past', 'let the range end by now');
  end if;
  insert into schedule_pending (schedule, slot_at, kind, batch, concurrency)
  select p_name, ms_at(ms), 'backfill', v_batch, p_concurrency from unnest(p_slots_ms) ms
   where not exists (select from schedule_run r where r.schedule = p_name and r.slot_at = ms_at(ms))
  on conflict do nothing;
  get diagnostics v_slots = row_count;
  if v_slots > 0 then
    perform schedules_advance(array[p_name]),
      schedule_event_add(p_name, 'backfill', p_slots => v_slots, p_by => p_by, p_because => p_because);
  end if;
  return v_slots;
end $$;
