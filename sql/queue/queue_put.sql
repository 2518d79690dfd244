-- queue_put, type_put, cell_put: create a queue, or set the defaults of a queue, a type or the whole cell. Options
-- given replace those of the same name; null values remove them. What a queue waits for must exist and not wait for it
-- in turn: whoever changes that follows whoever did before. Locks: queue_links with waitsFor. Raises: MR001, MR003, and
-- MR007 with waitsFor; MR032 for a limit while it moves here without one; MR030 for one that has moved to another cell,
-- or whose dead letters would go to one.
create or replace function queue_put(p_name text, p_options jsonb default '{}') returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id int;
  v_options jsonb;
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$' then
    perform raise_error('MR001', format('"%s" cannot name a queue', p_name),
      'use 1 to 128 letters, digits, and _ . : -, beginning with a letter or digit');
  end if;
  perform options_check(jsonb_strip_nulls(p_options), 'queue');
  if p_options ? 'deadLetterQueue' and p_options ->> 'deadLetterQueue' is not null then
    perform dead_letters_check(p_options ->> 'deadLetterQueue');
  end if;
  perform resources_check(p_options -> 'resources');
  if not exists (select from queue q where q.name = p_name) then
    perform cell_takes_queues();
  end if;
  perform limits_settle(p_name, p_options);
  if p_options ->> 'waitsFor' is not null then
    perform isolation_check('waiting for queues');
    perform pg_advisory_xact_lock(queue_links());
    perform waits_check(p_name, p_options -> 'waitsFor');
  end if;
  if p_options ->> 'freshnessSeconds' is not null then
    perform groups_refuse(q.id) from queue q where q.name = p_name;
  end if;
  insert into queue as q (name, options) values (p_name, jsonb_strip_nulls(p_options))
  on conflict (name) do update set options = jsonb_strip_nulls(q.options || p_options)
   where not p_options ? 'spread' or (q.options -> 'spread') is not distinct from nullif(p_options -> 'spread', 'null')
  returning id, options into v_id, v_options;
  if v_id is null then
    perform raise_error('MR001', format('queue "%s" exists: whether it is spread cannot be changed', p_name),
      'make one of another name, send new jobs there, and close this one');
  elsif v_options ? 'spread' then
    perform spread_check(p_name, v_options);
  end if;
  perform left_refuse(v_id);
  if p_options ? 'groupRate' then
    update snooze set due_at = clock_now() where lane in (select key from lane where queue_id = v_id);
  end if;
  if p_options ? 'breaker' then
    update cell set breakers = true where not breakers;
  end if;
  if p_options ?| '{ordered,maxRunning}' then
    perform agenda_unchain();
  end if;
  if p_options ?| '{ordered,groupMaxRunning}' then  -- groups that had no room may have some now
    perform group_announce(v_id, x.hash) from (select distinct hash_of(k.track, k.lane) as hash from claim k
      join lane l on l.key = k.lane where l.queue_id = v_id and k.track is not null) x;
  end if;
  return v_options;
end $$;

-- dead_letters_check: a queue that dead letters are to go to is here, and does not leave just now. Locks: its row,
-- shared. Raises: MR003, MR030.
create or replace function dead_letters_check(p_queue text) returns void
language plpgsql as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  perform from queue where id = v_id for share;
  perform left_refuse(v_id);
end $$;
