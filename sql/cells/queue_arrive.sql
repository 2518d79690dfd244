-- queue_arrive: make ready for a queue that moves here from another cell: the queue with its settings (queue_settings
-- of that cell). It takes no jobs before it has left there (queue_admit): until then it is closed here, and enqueues
-- are refused with the other cell. With p_hold nothing of it is handed out until all has ended there (queue_arrived);
-- those with a fingerprint go in when the other cell has given it up (fingerprints_hand_over). The same again changes
-- nothing once it takes jobs; before that it brings the settings as they are now, because the other cell goes on to
-- change them.
-- Locks: cell_list, shared; queue_links, the queue's row. Writes: queue, queue_move, pause, group_setting, job_type,
-- resource, route, fingerprint, sqs_queue, queue_event. Raises: MR001, MR007; MR032 when something here is in the way.
create or replace function queue_arrive(p_queue text, p_from text, p_here text, p_version bigint, p_settings jsonb,
  p_hold boolean, p_by text default null) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  q queue;
  m queue_move;
begin
  perform isolation_check('moving a queue'), cell_name_check(p_from), cell_name_check(p_here);
  perform cell_takes_queues(p_here);
  perform pg_advisory_xact_lock(queue_links());
  select * into q from queue where name = p_queue for no key update;
  select * into m from queue_move where queue_id = q.id;
  if m.is_leaving is false and m.cell = p_from and m.version = p_version and q.closed_at is null then
    return;
  elsif m.is_leaving and q.finished_at is null
     -- one that has not left yet may come from elsewhere by now
     or m.is_leaving is false and (q.closed_at is null or (m.version, m.cell) <> (p_version, p_from)
       and m.version >= p_version) then
    perform move_refuse('moving', format('queue "%s" still moves %s "%s"', p_queue,
      case when m.is_leaving then 'to' else 'here from' end, m.cell), 'wait until that move has ended');
  elsif q.closed_at is not null and m.queue_id is null then
    perform move_refuse('exists', format('there is a closed queue "%s" here', p_queue),
      'a name means one queue: move the other under another name, by enqueueing into a new one');
  elsif m.queue_id is null and (q.options <> '{}' and q.options <> p_settings -> 'options' or exists (
          select from queues v where v.name = p_queue and v.waiting + v.delayed + v.running > 0)) then
    perform move_refuse('exists', format('there is a queue "%s" here, with jobs or options of its own', p_queue),
      'let it run empty, and give it the options of the one that moves, or none');
  end if;
  perform settings_fit(p_settings);
  delete from queue_move where queue_id = q.id;
  delete from fingerprint where queue_id = q.id;
  delete from pause where queue_id = q.id and job_id = 0;
  update queue set finished_at = null, options = '{}' where id = q.id;
  update group_setting set weight = 1, max_running = null, rate = null where queue_id = q.id;
  perform settings_bring(p_queue, p_settings);
  update queue set options = options || jsonb_build_object('arrivesFrom', p_from),
         closed_at = clock_now(), closed_by = p_by, closed_because = format('it is still in the cell "%s"', p_from),
         closed_before = null
   where name = p_queue
  returning id into q.id;
  -- one of this name that was here before went when it moved away, and says what was so then
  delete from sqs_queue where queue_id = q.id;
  insert into sqs_queue (name, queue_id, attributes, tags, created_at, changed_at, purged_at)
  select x.name, q.id, x.attributes, x.tags, x.created_at, x.changed_at, x.purged_at
    from jsonb_populate_record(null::sqs_queue, nullif(p_settings -> 'sqs', 'null')) x where x.name is not null
  on conflict (name) do update set queue_id = excluded.queue_id, attributes = excluded.attributes, tags = excluded.tags,
    created_at = excluded.created_at, changed_at = excluded.changed_at, purged_at = excluded.purged_at,
    deleted_at = null;
  insert into queue_move (queue_id, cell, is_leaving, version, began_at, began_by)
  values (q.id, p_from, false, p_version, clock_now(), p_by);
  if p_hold then
    insert into pause (queue_id, paused_at, paused_by, paused_because, job_id)
    values (q.id, clock_now(), 'millrace', format('its jobs in the cell "%s" end first', p_from), 0)
    on conflict do nothing;
  end if;
  if m.is_leaving is distinct from false then
    perform queue_event_add(p_queue, 'arriving', p_by, format('from the cell "%s"', p_from));
  end if;
end $$;

-- settings_fit: refuse settings that are not those this cell has for the same types, resources and defaults. Raises:
-- MR032.
create or replace function settings_fit(p_settings jsonb) returns void
language plpgsql as $$
declare
  v_name text;
begin
  select q.name into v_name from queue q join queue_move m on m.queue_id = q.id and m.is_leaving
   where q.name = p_settings -> 'deadLetter' ->> 'name';
  if v_name is not null then
    perform move_refuse('deadLetter', format('dead letters go to queue "%s", which has moved away from here', v_name),
      'let them go to another queue, or to none');
  end if;
  select min(t.type) into v_name from job_type t
   where p_settings -> 'types' ? t.type and t.options <> p_settings -> 'types' -> t.type and t.options <> '{}';
  if v_name is not null then
    perform move_refuse('type', format('type "%s" has other settings here', v_name), 'set the same in both cells');
  end if;
  select min(r.name) into v_name from resource r
   where p_settings -> 'resources' ? r.name and r.options <> p_settings -> 'resources' -> r.name;
  if v_name is not null then
    perform move_refuse('resource', format('resource "%s" has other settings here', v_name),
      'set the same in both cells');
  elsif exists (select from cell c where c.options <> p_settings -> 'cell') then
    perform move_refuse('defaults', 'this cell has other defaults', 'set the same in both cells (cell_put)');
  end if;
end $$;

-- move_refuse: say why a move cannot be. Never returns. Raises: MR032.
create or replace function move_refuse(p_reason text, p_message text, p_remedy text) returns void
language plpgsql as $$
begin
  perform raise_error('MR032', p_message, p_remedy, json_build_object('reason', p_reason)::text);
end $$;
