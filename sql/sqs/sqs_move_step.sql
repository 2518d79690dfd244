-- sqs_move_step: move some dead letters of one task whose time has come: each is claimed, copied to where it goes and
-- completed in this transaction, so once. Any server may call it. Returns {"queues": [where something arrived],
-- "waitSeconds": until the next step is due}, null waitSeconds when no task runs.
-- Locks: the task's row (skipped when taken), then as job_claim_json. Writes: sqs_move_task, as job_copy and
-- job_complete.
create or replace function sqs_move_step() returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  t sqs_move_task;
  v_now timestamptz := clock_now();
  v_source text := null;
  v_destination int;
  v_failure text;
  v_claims json;
  v_moved int := 0;
  v_queues text[] := '{}';
  v_end text;
  c json;
  j record;
begin
  select * into t
    from sqs_move_task
   where status in ('RUNNING', 'CANCELLING') and next_at <= v_now
   order by next_at limit 1 for update skip locked;
  if found then
    select q.name into v_source
      from sqs_queue s
      join queue q on q.id = s.queue_id
     where s.name = t.source and s.deleted_at is null;
    select s.queue_id into v_destination from sqs_queue s where s.name = t.destination and s.deleted_at is null;
    if t.status = 'CANCELLING' then
      v_end := 'CANCELLED';
    elsif v_source is null or (t.destination is not null and v_destination is null) then
      v_failure := 'AWS.SimpleQueueService.NonExistentQueue';
    else
      v_claims := job_claim_json(array[v_source], '{message}', coalesce(t.per_second, 500), 'sqs', 60);
      for c in select value from json_array_elements(v_claims) where value ->> 'token' is not null loop
        for j in
          select k.id, coalesce(v_destination, s.queue_id) as target, k.source ->> 'queue' as came_from
            from json_array_elements_text(c -> 'ids') e
            join job k on k.slot = job_slot(e::bigint) and k.id = e::bigint
            left join queue q on q.name = k.source ->> 'queue'
            left join sqs_queue s on s.queue_id = q.id and s.deleted_at is null
           order by k.id
        loop
          v_failure := coalesce(v_failure, case
            when j.target is null and j.came_from is null then 'CouldNotDetermineMessageSource'
            when j.target is null then 'AWS.SimpleQueueService.NonExistentQueue' end);
          if v_failure is not null then
            perform job_release((c ->> 'token')::uuid, array[j.id]);
          else
            perform job_copy(j.id, j.target, '{"redriven": true}'::json);
            perform job_complete((c ->> 'token')::uuid, array[j.id]);
            v_moved := v_moved + 1;
            v_queues := v_queues || array(select q.name from queue q
                                           where q.id = j.target and q.name <> all (v_queues));
          end if;
        end loop;
      end loop;
      if json_array_length(v_claims) = 0 then
        v_end := 'COMPLETED';
      end if;
    end if;
    update sqs_move_task set moved = moved + v_moved,
           status = case when v_failure is not null then 'FAILED' else coalesce(v_end, status) end, failure = v_failure,
           next_at = v_now + case when per_second is null then interval '0' else interval '1 second' end
     where id = t.id;
  end if;
  return json_build_object('queues', v_queues, 'waitSeconds', (
    select case when count(*) > 0 then greatest(date_part('epoch', min(next_at) - clock_now()), 0) end
      from sqs_move_task
     where status in ('RUNNING', 'CANCELLING')));
end $$;
