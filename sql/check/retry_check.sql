-- retry_check: a retry policy is a number of seconds, a list of them, or {base, factor, cap, jitter}; no delay is
-- longer than bound('seconds'). Returns it unchanged. Raises: MR001.
create or replace function retry_check(p_retry jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_key text;
  v_value jsonb;
begin
  if p_retry is null or jsonb_typeof(p_retry) = 'null' then
    return null;
  elsif jsonb_typeof(p_retry) = 'number' then
    if p_retry::numeric not between 0 and bound('seconds') then
      perform raise_error('MR001', format('retry: a delay of %s seconds is not possible', left(p_retry::text, 100)),
        format('give 0 to %s seconds', bound('seconds')));
    end if;
  elsif jsonb_typeof(p_retry) = 'array' then
    if jsonb_array_length(p_retry) not between 1 and 1000 then
      perform raise_error('MR001', 'retry: a list needs 1 to 1000 delays', 'give at least one delay in seconds');
    end if;
    for v_value in select value from jsonb_array_elements(p_retry) loop
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric not between 0 and bound('seconds') then
        perform raise_error('MR001', format('retry: %s is not a delay in seconds', left(v_value::text, 100)),
          format('give numbers from 0 to %s', bound('seconds')));
      end if;
    end loop;
  elsif jsonb_typeof(p_retry) = 'object' then
    perform keys_check('retry', p_retry, '{base,factor,cap,jitter}');
    for v_key, v_value in select key, value from jsonb_each(p_retry) loop
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric not between 0 and bound('seconds')
        or (v_key = 'jitter' and v_value::numeric > 1)
            or (v_key = 'factor' and v_value::numeric < 1) then
        perform raise_error('MR001', format('retry: %s cannot be %s', v_key, left(v_value::text, 100)),
          format('base and cap are 0 to %s seconds, factor is at least 1, jitter lies between 0 and 1',
            bound('seconds')));
      end if;
    end loop;
  else
    perform raise_error('MR001', 'retry: not a policy',
      'give seconds, a list of seconds, or {base, factor, cap, jitter}');
  end if;
  return p_retry;
end $$;
