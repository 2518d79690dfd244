-- group_put: set how a group of a queue is treated: its weight, from 1 (the default) to 1000, and its own maxRunning
-- and rate instead of the queue's groupMaxRunning and groupRate. Options given replace those of the same name; null
-- puts one back to its default. Takes effect with the next claim. Returns what is set. Raises: MR001, MR003,
-- MR032; MR030 for a queue that has moved to another cell. Locks: the queue's row, shared.
create or replace function group_put(p_queue text, p_group text, p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id int := queue_id(p_queue);
  v_options jsonb;
begin
  if p_group is null or jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'a group and its options are needed', 'give a name and a JSON object');
  elsif p_options ->> 'weight' !~ '^([1-9][0-9]{0,2}|1000)$' then
    perform raise_error('MR001', format('a weight of %s is not possible', p_options ->> 'weight'),
      'give an integer from 1 to 1000; to stop a group, pause it');
  end if;
  perform keys_check('a group', p_options, '{weight,maxRunning,rate}'),
    options_check(jsonb_strip_nulls(p_options - 'weight'));
  perform from queue where id = v_queue_id for share;  -- it may be leaving just now
  perform left_refuse(v_queue_id), limits_settle(p_queue, p_options);
  insert into group_setting as s (queue_id, hash, group_key, weight, max_running, rate)
  values (v_queue_id, group_track(0, name_check('group', p_group)), p_group, coalesce((p_options ->> 'weight')::int, 1),
    (p_options ->> 'maxRunning')::int, nullif(p_options -> 'rate', 'null'))
  on conflict (queue_id, hash) do update
    set weight = case when p_options ? 'weight' then excluded.weight else s.weight end,
        max_running = case when p_options ? 'maxRunning' then excluded.max_running else s.max_running end,
        rate = case when p_options ? 'rate' then excluded.rate else s.rate end
  returning jsonb_strip_nulls(jsonb_build_object('weight', s.weight, 'maxRunning', s.max_running, 'rate', s.rate))
    into v_options;
  if p_options ?| '{maxRunning,rate}' then  -- it may have had no room, and have some now
    delete from snooze where lane in (select key from lane where queue_id = v_queue_id)
      and track = group_track(lane, p_group);
    perform group_announce(v_queue_id, group_track(0, p_group));
  end if;
  return v_options;
end $$;
