-- job_enqueue_left: enqueue in the cell that a queue has left, with a fingerprint that lives here still: what a
-- duplicate does (keep, replace, debounce, follow up) is decided where its job is. Where all has ended, the fingerprint
-- may outlive its job until it is brought along, and all are duplicates. As job_enqueue otherwise.
-- Locks: the queue's row, shared, so that it does not finish; the fingerprint's row. Raises: as job_enqueue; MR030 when
-- the fingerprint does not live here (any more).
create or replace function job_enqueue_left(p_type text, p_input json default null, p_options json default '{}',
  p_payload bytea default null, out job_id bigint, out duplicate boolean)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_xid constant bigint := xid_now();  -- before the queue is read (queues_finish)
  v_id constant int := queue_id(schedule_queue(p_options::jsonb || jsonb_build_object('type', p_type)));
  v_finished boolean;
  p job_plan;
begin
  perform isolation_check('enqueueing where a queue has left');
  perform json_check('input', p_input, bound('inputBytes')), json_check('options', p_options);
  if p_options ->> 'fingerprint' is null or not exists (
       select from queue_move m where m.queue_id = v_id and m.is_leaving) then
    perform raise_error('MR001', 'only for a fingerprint of a queue that has left', 'use job_enqueue');
  end if;
  v_finished := v_id = any (queues_reenter(array[v_id]));
  if fingerprint_give_up(v_id, p_options ->> 'fingerprint') then
    perform queue_refuse(v_id);
  elsif v_finished then
    select f.job_id, true into job_id, duplicate from fingerprint f
     where f.queue_id = v_id and f.fingerprint = p_options ->> 'fingerprint';
    return;
  end if;
  select * into p
    from plan_resolve(json_build_array((p_options::jsonb || jsonb_build_object('type', p_type))), 1, true);
  if p_payload is not null then
    p.payload_size := octet_length(p_payload);
    p.payload := case when p.payload_size <= 65536 then p_payload end;
  end if;
  select e.job_id, e.duplicate into job_id, duplicate from enqueue_unique(p, p_input) e;
  if octet_length(p_payload) > 65536 and not duplicate then
    perform payload_store(job_id, p_payload);
  end if;
end $$;
