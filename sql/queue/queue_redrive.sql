-- queue_redrive: move waiting dead letters back to the queue they came from (or to p_target). Returns how many. Each is
-- claimed, copied and completed in this transaction. Letters without a source, or whose source is finished, stay.
-- Wakes the workers of the queues they go to.
-- Raises: MR001, MR003, MR014 when the target is finished.
create or replace function queue_redrive(p_queue text, p_target text default null, p_limit int default 1000) returns int
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_target int := case when p_target is not null then queue_id(p_target) end;
  v_count int := 0;
  v_stirred int[] := '{}';
  c json;
  j record;
begin
  perform spread_refuse(v_target, 'its jobs come by their tenant');
  if v_target is not null and queues_reenter(array[v_target]) <> '{}' then
    perform queue_refuse(v_target);
  end if;
  for c in select value from json_array_elements(job_claim_json(array[p_queue], null, p_limit, 'redrive', 60)) loop
    for j in
      select k.id, coalesce(v_target, q.id) as target from json_array_elements_text(c -> 'ids') e
        join job k on k.slot = job_slot(e::bigint) and k.id = e::bigint
        left join queue q on q.name = k.source ->> 'queue'
    loop
      if j.target is null or queues_reenter(array[j.target]) <> '{}' then
        perform job_release((c ->> 'token')::uuid, array[j.id]);
      else
        perform job_copy(j.id, j.target, json_build_object('redriven', true));
        perform job_complete((c ->> 'token')::uuid, array[j.id]);
        v_count := v_count + 1;
        v_stirred := v_stirred || j.target;
      end if;
    end loop;
  end loop;
  perform queue_notify(array(select name from queue where id = any (v_stirred)));
  return v_count;
end $$;
