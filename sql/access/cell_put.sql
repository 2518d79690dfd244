-- cell_put: set the defaults of the whole cell; see queue_put. payloadLimitBytes bounds the payload of a job. Writes:
-- cell. Raises: MR001, MR003; MR030 for a queue of dead letters that has moved to another cell.
create or replace function cell_put(p_options jsonb) returns jsonb
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_options jsonb;
begin
  perform options_check(jsonb_strip_nulls(p_options), 'cell');
  if p_options ->> 'deadLetterQueue' is not null then
    perform dead_letters_check(p_options ->> 'deadLetterQueue');
  end if;
  if p_options ? 'payloadLimitBytes' then
    update cell set payload_limit = coalesce((p_options ->> 'payloadLimitBytes')::bigint, 256000000);
  end if;
  update cell set options = jsonb_strip_nulls(options || (p_options - 'payloadLimitBytes'))
  returning options into v_options;
  return v_options;
end $$;
