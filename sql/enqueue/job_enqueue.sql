-- job_enqueue: append one job. Options as in docs/options.md; the payload may be given as bytes or, in pieces, by
-- payload_append. Writes and raises as job_enqueue_many.
create or replace function job_enqueue(p_type text, p_input json default null, p_options json default '{}',
  p_payload bytea default null, out job_id bigint, out duplicate boolean)
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_xid constant bigint := xid_now();  -- before the queue is read (queues_finish)
  p job_plan;
  v_limit bigint;
begin
  -- Almost never true, and cheaper to ask here than to call json_check.
  if octet_length(p_input::text) > 2 * bound('jsonDepth') or strpos(p_input::text, '\u') > 0 then
    perform json_check('input', p_input, bound('inputBytes'));
  end if;
  if octet_length(p_options::text) > 2 * bound('jsonDepth') or strpos(p_options::text, '\u') > 0 then
    perform json_check('options', p_options);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform queues_pin(p_options);
  end if;
  if p_payload is not null then
    select payload_limit into v_limit from cell;
    if octet_length(p_payload) >= v_limit then
      perform raise_error('MR004',
        format('the payload has %s bytes; the limit is %s, exclusive', octet_length(p_payload), v_limit),
        'store it elsewhere and enqueue a reference');
    end if;
  end if;
  if p_type is null then
    perform raise_error('MR001', 'a job needs a type', 'give the option "type"');
  elsif json_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'options are not an object', 'give a JSON object');
  end if;
  if p_options::jsonb - 'queue' = '{}' then
    p := plan_plain(p_options ->> 'queue', p_type);
  else
    select * into p from plan_resolve(json_build_array((p_options::jsonb || jsonb_build_object('type', p_type))));
  end if;
  if p_payload is not null then
    p.payload_size := octet_length(p_payload);
    if p.payload_size <= 65536 then  -- a plan is copied at every call, and a large payload with it
      p.payload := p_payload;
    end if;
  end if;
  if p.fingerprint is not null or p.schedule is not null then
    select e.job_id, e.duplicate into job_id, duplicate from enqueue_unique(p, p_input) e;
  else
    job_id := job_store(job_id_new(), p, p_input, case when p.stage is null then p.run_at else 'infinity' end, null);
    duplicate := false;
  end if;
  if octet_length(p_payload) > 65536 and not duplicate then
    perform payload_store(job_id, p_payload);
  end if;
end $$;
