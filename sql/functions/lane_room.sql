-- lane_room: how many of p_wanted jobs may be claimed where a queue or a type has maxRunning, or a breaker that lets one job at a time through; null when somebody else is deciding on that just now.
-- Whoever claims under a limit has its lock until the end of the transaction, so that what the last one took is seen here, and counted.
-- Locks: queue_limit, type_limit (never waits).
create or replace function lane_room(p_limits jsonb, p_wanted int) returns int
language plpgsql as $$
declare
  v_room int := p_wanted;
  e breaker_event;
begin
  if p_limits ->> 'ofQueue' is not null then
    if not pg_try_advisory_xact_lock(queue_limit((p_limits ->> 'queue')::int)) then
      return null;
    end if;
    v_room := least(v_room, (p_limits ->> 'ofQueue')::int - (
      select coalesce(sum(cardinality(c.jobs)), 0) from claim c join lane l on l.key = c.lane where l.queue_id = (p_limits ->> 'queue')::int));
  end if;
  if p_limits ->> 'ofType' is not null then
    if not pg_try_advisory_xact_lock(type_limit(p_limits ->> 'type')) then
      return null;
    end if;
    v_room := least(v_room, (p_limits ->> 'ofType')::int - (
      select coalesce(sum(cardinality(c.jobs)), 0) from claim c join lane l on l.key = c.lane where l.type = p_limits ->> 'type'));
  end if;
  if p_limits ->> 'breaker' is not null then
    if not pg_try_advisory_xact_lock(type_limit(p_limits ->> 'type')) then
      return null;
    end if;
    e := breaker_state((p_limits ->> 'queue')::int, p_limits ->> 'type');  -- again: whoever had the lock may have seen its job fail
    v_room := case when e.open_until is null then v_room when e.open_until > clock_now() then 0 else least(v_room, 1 - (
      select count(*) from claim c join lane l on l.key = c.lane
       where l.queue_id = (p_limits ->> 'queue')::int and l.type = p_limits ->> 'type' and c.started_at >= e.open_until)) end;
  end if;
  return greatest(v_room, 0);
end $$;
