-- stage_cancel: cancel the staged jobs of a queue, at most p_limit at a time. Returns how many. Locks and writes as
-- job_cancel. Raises: MR001, MR003, MR007.
create or replace function stage_cancel(p_queue text, p_stage text, p_limit int default 10000, p_by text default null,
  p_because text default null) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_count int;
begin
  perform name_check('stage', p_stage), limit_check(p_limit);
  v_count := job_cancel(array(
    select g.job_id from agenda g
      join lane_known l on l.key = g.lane
     where l.queue_id = v_queue_id and g.stage = p_stage
       and not agenda_dropped(g) order by g.job_id limit p_limit), p_because, p_by);
  if v_count > 0 then
    perform queue_event_add(p_queue, 'stageCancelled', p_by, p_because, null, null, null, p_stage, v_count);
  end if;
  return v_count;
end $$;
