-- cell_put: set the defaults of the whole cell; see queue_put. payloadLimitBytes bounds the payload of a job. Writes:
-- cell. Raises: MR001.
create or replace function cell_put(p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  perform options_check(jsonb_strip_nulls(p_options - 'payloadLimitBytes'));
  if p_options ?| '{maxRunning,rate,resources,breaker}' then
    perform raise_error('MR001', 'maxRunning, rate, resources and breaker cannot be set for the whole cell',
      'set them for a queue or a type');
  end if;
  perform options_of_queue_refuse(p_options);
  if coalesce((p_options ->> 'payloadLimitBytes')::numeric, 256000000) not between 1 and 256000000 then
    perform raise_error('MR001', 'payloadLimitBytes is not between 1 and 256000000', null);
  elsif p_options ? 'payloadLimitBytes' then
    update cell set payload_limit = coalesce((p_options ->> 'payloadLimitBytes')::bigint, 256000000);
  end if;
  update cell set options = jsonb_strip_nulls(options || (p_options - 'payloadLimitBytes'))
  returning options into v_options;
  return v_options;
end $$;
