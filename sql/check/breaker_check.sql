-- breaker_check: how a queue or a type counts failures. Returns it unchanged. Raises: MR001.
create or replace function breaker_check(p_breaker jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_key text;
  v_value jsonb;
begin
  if jsonb_typeof(p_breaker) <> 'object' then
    perform raise_error('MR001', 'breaker is not an object',
      'give {"failures": 5, "withinSeconds": 60, "pauseSeconds": 30, "pauseCapSeconds": 3600}, or {} for just that');
  end if;
  perform keys_check('breaker', p_breaker, '{failures,withinSeconds,pauseSeconds,pauseCapSeconds}');
  for v_key, v_value in select key, value from jsonb_each(p_breaker) loop
    if jsonb_typeof(v_value) <> 'number' or v_value::numeric > 86400 or v_value::numeric <= 0 or v_key = 'failures'
      and v_value::text ~ '[.]' then
      perform raise_error('MR001', format('breaker: %s cannot be %s', v_key, v_value),
        'failures is a whole number of at least 1, the others are seconds above 0; 86,400 at most');
    end if;
  end loop;
  if coalesce((p_breaker ->> 'pauseSeconds')::numeric, 30) > coalesce((p_breaker ->> 'pauseCapSeconds')::numeric, 3600)
    then
    perform raise_error('MR001', 'breaker: the pause is longer than its cap',
      'give a pauseCapSeconds of at least pauseSeconds');
  end if;
  return p_breaker;
end $$;
