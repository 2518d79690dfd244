-- options_check: defaults that a cell, a queue or a type may set. Returns them unchanged. Raises: MR001.
create or replace function options_check(p_options jsonb) returns jsonb
language plpgsql stable as $$
declare
  v_key text;
  v_value jsonb;
  v_number constant text[] :=
    '{
      leaseSeconds, leaseCapSeconds, agingSeconds, ttlSeconds, attemptTimeoutSeconds, retentionAttemptsSeconds,
      retentionResultsSeconds, retentionSucceededSeconds, retentionFailedSeconds, retentionExpiredSeconds,
      retentionCancelledSeconds, maxAgeSeconds, freshnessSeconds}';
begin
  if jsonb_typeof(p_options) is distinct from 'object' then
    perform raise_error('MR001', 'options are not an object', 'give a JSON object');
  elsif octet_length(p_options::text) > bound('optionsBytes') then
    perform raise_error('MR004', format('options have %s bytes, more than the limit of %s',
      octet_length(p_options::text), bound('optionsBytes')), 'give fewer, or shorter ones');
  end if;
  for v_key, v_value in select key, value from jsonb_each(p_options) loop
    if v_key = any (v_number) then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric < 0.001 then
        perform raise_error('MR001', format('%s cannot be %s', v_key, left(v_value::text, 100)),
          'give a number of at least 0.001');
      elsif v_value::numeric > (case when v_key = 'attemptTimeoutSeconds' then 2147483 else bound('seconds') end) then
        perform raise_error('MR001', format('%s cannot be %s', v_key, left(v_value::text, 100)),
          format('give at most %s', case when v_key = 'attemptTimeoutSeconds' then 2147483 else bound('seconds') end));
      end if;
    elsif v_key = 'leaseFactor' then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric not between 1 and 1000000 then
        perform raise_error('MR001', format('leaseFactor cannot be %s', left(v_value::text, 100)),
          'give a number from 1 to 1000000');
      end if;
    elsif v_key = 'ordered' then
      if v_value not in ('true', 'false', '"batches"') then
        perform raise_error('MR001', format('ordered cannot be %s', v_value), 'give true, false or "batches"');
      end if;
    elsif v_key = 'lostAlone' then
      if jsonb_typeof(v_value) <> 'boolean' then
        perform raise_error('MR001', format('lostAlone cannot be %s', v_value), 'give true or false');
      end if;
    elsif v_key in ('maxRunning', 'groupMaxRunning', 'maxDepth', 'deadLetterAfter') then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric not between 1 and 1000000000 or v_value::numeric % 1 <> 0
        then
        perform raise_error('MR001', format('%s cannot be %s', v_key, v_value), 'give a whole number of at least 1');
      end if;
    elsif v_key in ('rate', 'groupRate', 'enqueueRate') then
      perform rate_check(v_key, v_value);
    elsif v_key = 'resources' then
      if jsonb_typeof(v_value) <> 'object' then
        perform raise_error('MR001', 'resources are not an object', 'give names with units, such as {"gpu": 1}');
      end if;
    elsif v_key = 'onFailure' then
      if v_value not in ('"continue"', '"pause"') then
        perform raise_error('MR001', format('onFailure cannot be %s', v_value), 'use continue or pause');
      end if;
    elsif v_key = 'waitsFor' or v_key = 'finalStages' then
      if jsonb_typeof(v_value) <> 'array' or jsonb_array_length(v_value) > 100
         or exists (select from jsonb_array_elements(v_value) e
           where jsonb_typeof(e) <> 'string' or length(e #>> '{}') not between 1 and 200) then
        perform raise_error('MR001', format('%s is not a list of names', v_key), 'give a list of at most 100 names');
      end if;
    elsif v_key = 'drainsAt' or v_key = 'blocked' then
      perform calendar_check(v_key, v_value);
    elsif v_key = 'priority' then
      perform priority_check(v_value #>> '{}');
    elsif v_key = 'maxAttempts' then
      perform max_attempts_check(v_value #>> '{}');
    elsif v_key = 'cost' then
      perform cost_check(v_value #>> '{}');
    elsif v_key = 'retry' then
      perform retry_check(v_value);
    elsif v_key = 'errorRules' then
      perform error_rules_check(v_value);
    elsif v_key = 'breaker' then
      perform breaker_check(v_value);
    elsif v_key = 'deadLetterQueue' then
      if jsonb_typeof(v_value) <> 'string' then
        perform raise_error('MR001', 'deadLetterQueue is not a name', 'give the name of an existing queue');
      end if;
    else
      perform raise_error('MR001', format('unknown option "%s"', v_key), 'see the table of options in docs/options.md');
    end if;
  end loop;
  return p_options;
end $$;
