-- Circuit breakers: where a queue or a type has the option "breaker", failures of a type in a queue are counted, and
-- too many of them stop the type for a while. A breaker is what its events say. Nothing is updated and nobody waits,
-- and what a transaction reports counts when it commits.
-- breaker_state is the newest event that is not a mere failure. "opened" holds the type back until open_until. After
-- that one job at a time is let through (lane_room), until one of them succeeds ("closed") or fails ("opened" again,
-- for twice as long). Attempts that were claimed before open_until tell nothing about the time after it.

-- breaker_failed: attempts of a claim part failed. The failure that makes `failures` of them within `withinSeconds`,
-- with no success between them, opens the breaker.
-- Writes: breaker_event.
create or replace function breaker_failed(h claim, p_breaker jsonb, p_error json) returns void
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  l lane;
  e breaker_event;
  v_pause float8;
begin
  select * into l from lane where key = h.lane;
  e := breaker_state(l.queue_id, l.type);
  if e.open_until is not null then
    if h.started_at < e.open_until then
      return;
    end if;
    v_pause := least(e.pause_seconds * 2, coalesce((p_breaker ->> 'pauseCapSeconds')::float8, 3600));
  elsif coalesce((p_breaker ->> 'failures')::int, 5) <= cardinality(h.jobs) + (
      select coalesce(sum(b.jobs), 0) from breaker_event b
       where b.queue_id = l.queue_id and b.type = l.type and b.id > coalesce(e.id, 0) and b.kind = 'failed'
         and b.at > v_now - make_interval(secs => coalesce((p_breaker ->> 'withinSeconds')::float8, 60))) then
    v_pause := coalesce((p_breaker ->> 'pauseSeconds')::float8, 30);
  end if;
  insert into breaker_event (queue_id, type, kind, at, jobs, pause_seconds, open_until, error)
  values (l.queue_id, l.type, case when v_pause is null then 'failed' else 'opened' end, v_now, cardinality(h.jobs),
          v_pause, v_now + make_interval(secs => v_pause),
          json_strip_nulls(json_build_object(
            'name', error_member(p_error, 'name'), 'code', error_member(p_error, 'code'),
            'message', error_message(p_error))));
  if v_pause is not null then
    perform breaker_tell(l.queue_id, l.type, 'open');
  end if;
end $$;

-- breaker_succeeded: attempts of a claim part succeeded: what was counted is forgotten, and a breaker that let them
-- through is closed.
-- Writes: breaker_event, only when there is something to forget.
create or replace function breaker_succeeded(h claim) returns void
language plpgsql as $$
declare
  l lane;
  e breaker_event;
begin
  select * into l from lane where key = h.lane;
  if (select b.kind from breaker_event b
       where b.queue_id = l.queue_id and b.type = l.type
       order by b.id desc limit 1) in ('failed', 'opened') then
    e := breaker_state(l.queue_id, l.type);
    if e.open_until is null or h.started_at >= e.open_until then
      perform breaker_close(l.queue_id, l.type, e.open_until is not null);
    end if;
  end if;
end $$;

create or replace function breaker_state(p_queue_id int, p_type text) returns breaker_event
language sql stable as $$
  select b from breaker_event b
   where b.queue_id = p_queue_id and b.type = p_type and b.kind <> 'failed'
   order by b.id desc limit 1
$$;

create or replace function breaker_close(p_queue_id int, p_type text, p_was_open boolean) returns void
language plpgsql as $$
begin
  insert into breaker_event (queue_id, type, kind, at) values (p_queue_id, p_type, 'closed', clock_now());
  if p_was_open then
    perform breaker_tell(p_queue_id, p_type, 'closed'),
      queue_notify(array(select name from queue where id = p_queue_id));
  end if;
end $$;

-- breaker_tell: tell the listeners of the channel "millrace:SCHEMA:breakers", when this commits.
create or replace function breaker_tell(p_queue_id int, p_type text, p_state text) returns void
language sql volatile as $$
  select pg_notify(channel, json_build_object('queue', q.name, 'type', p_type, 'state', p_state)::text)
    from queue q, concat('millrace:', current_schema(), ':breakers') channel
   where q.id = p_queue_id and octet_length(channel) < 64
$$;
