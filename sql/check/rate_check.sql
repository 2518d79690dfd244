-- rate_check: a rate is {perSecond, burst}; an enqueueRate may have a spillPriority. Returns it unchanged. Raises:
-- MR001.
create or replace function rate_check(p_name text, p_rate jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_key text;
  v_value jsonb;
begin
  if p_rate is null then
    return null;
  elsif jsonb_typeof(p_rate) <> 'object' or p_rate -> 'perSecond' is null then
    perform raise_error('MR001', format('%s is not a rate', p_name),
      'give {"perSecond": 10}, and "burst" if more than a second''s worth may come at once');
  end if;
  perform keys_check(p_name, p_rate, '{perSecond,burst}'::text[]
    || case when p_name = 'enqueueRate' then array['spillPriority'] end);
  for v_key, v_value in select key, value from jsonb_each(p_rate) loop
    if v_key = 'spillPriority' then
      perform priority_check(v_value #>> '{}');
    elsif jsonb_typeof(v_value) <> 'number' or v_value::numeric <= 0 or v_value::numeric > 1e9
      or (v_key = 'burst' and v_value::numeric < 1) then
      perform raise_error('MR001', format('%s: %s cannot be %s', p_name, v_key, v_value),
        'perSecond is above 0, burst at least 1; to stop something, pause it');
    end if;
  end loop;
  return p_rate;
end $$;
