-- queue_copy: a cell joins those of a spread queue: the queue with all that is set for it in the others
-- (queue_settings), paused and closed as it is there. The same again changes nothing. The caller has spread_lock there.
-- Locks: the queue's row. Writes: queue, pause, group_setting, job_type, resource. Raises: MR001, MR032.
create or replace function queue_copy(p_queue text, p_settings jsonb) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id int;
  v_paused constant jsonb := p_settings -> 'paused';
  v_closed constant jsonb := p_settings -> 'closed';
begin
  perform settings_fit(p_settings), settings_bring(p_queue, p_settings);
  update queue set options = p_settings -> 'options',
         paused_at = case when v_paused <> 'null' then coalesce(paused_at, clock_now()) end,
         paused_by = v_paused ->> 'by', paused_because = v_paused ->> 'because',
         closed_at = case when v_closed <> 'null' then coalesce(closed_at, clock_now()) end,
         closed_by = v_closed ->> 'by', closed_because = v_closed ->> 'because'
   where name = p_queue and finished_at is null
  returning id into v_id;
  delete from pause where queue_id = v_id and job_id is null;
  insert into pause (queue_id, type, group_key, hash, paused_at, paused_by, paused_because)
  select v_id, p.type, p."group", group_track(0, p."group"), clock_now(), p.by, p.because
    from jsonb_to_recordset(p_settings -> 'parts') p (type text, "group" text, by text, because text)
   where v_id is not null;
end $$;

-- settings_bring: what queue_settings told of a queue in another cell is set here too. Raises: MR001.
create or replace function settings_bring(p_queue text, p_settings jsonb) returns void
language plpgsql as $$
declare
  s record;
begin
  if p_settings -> 'deadLetter' ->> 'name' is not null then
    insert into queue (name, options)
    values (p_settings -> 'deadLetter' ->> 'name', p_settings -> 'deadLetter' -> 'options') on conflict do nothing;
  end if;
  for s in select r.key, r.value from jsonb_each(p_settings -> 'resources') r loop
    perform resource_put(s.key, s.value);
  end loop;
  for s in select t.key, t.value from jsonb_each(p_settings -> 'types') t where t.value <> '{}' loop
    perform type_put(s.key, s.value);
  end loop;
  perform queue_put(p_queue, p_settings -> 'options');
  for s in select g.value from jsonb_array_elements(p_settings -> 'groups') g loop
    perform group_put(p_queue, s.value ->> 'group', s.value -> 'options');
  end loop;
end $$;
