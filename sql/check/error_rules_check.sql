-- error_rules_check: a list of rules can be used as it stands. Returns it unchanged. Raises: MR001.
create or replace function error_rules_check(p_rules jsonb) returns jsonb
language plpgsql immutable as $$
declare
  v_rule jsonb;
begin
  if jsonb_typeof(p_rules) <> 'array' or jsonb_array_length(p_rules) not between 1 and 100 then
    perform raise_error('MR001', 'errorRules is not a list of 1 to 100 rules',
      'give a list of {code, pattern, delays | retry | fail}, or null for none');
  end if;
  for v_rule in select value from jsonb_array_elements(p_rules) loop
    if jsonb_typeof(v_rule) <> 'object' then
      perform raise_error('MR001', format('errorRules: %s is not a rule', v_rule),
        'give an object such as {"code": "ETIMEDOUT", "delays": [10, 60]}');
    end if;
    perform keys_check('errorRules', v_rule, '{code,pattern,delays,retry,fail}');
    if not v_rule ?| '{code,pattern}' then
      perform raise_error('MR001', format('errorRules: %s matches nothing', v_rule), 'give a code or a pattern');
    elsif (select count(*) from jsonb_object_keys(v_rule) key where key in ('delays', 'retry', 'fail')) <> 1 then
      perform raise_error('MR001', format('errorRules: %s does not say what to do', v_rule),
        'give one of delays, retry and fail');
    elsif v_rule ? 'code' and (jsonb_typeof(v_rule -> 'code') <> 'string'
      or length(v_rule ->> 'code') not between 1 and 200) then
      perform raise_error('MR001', format('errorRules: the code cannot be %s', v_rule -> 'code'),
        'give a text of 1 to 200 characters');
    elsif v_rule ? 'fail' and v_rule -> 'fail' <> 'true' then
      perform raise_error('MR001', format('errorRules: fail cannot be %s', v_rule -> 'fail'),
        'give true, or delays or retry instead');
    elsif v_rule ? 'delays' and jsonb_typeof(v_rule -> 'delays') <> 'array' then
      perform raise_error('MR001', format('errorRules: delays cannot be %s', v_rule -> 'delays'),
        'give a list of seconds, one for each retry; a single policy goes into retry');
    end if;
    perform pattern_check(v_rule -> 'pattern'), retry_check(coalesce(v_rule -> 'delays', v_rule -> 'retry'));
  end loop;
  return p_rules;
end $$;

-- pattern_check: a regular expression that PostgreSQL understands, and that cannot take long. Raises: MR001.
create or replace function pattern_check(p_pattern jsonb) returns void
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_pattern) <> 'string' or length(p_pattern #>> '{}') not between 1 and 200 then
    perform raise_error('MR001', format('errorRules: the pattern cannot be %s', left(p_pattern::text, 300)),
      'give a regular expression of 1 to 200 characters');
  elsif p_pattern #>> '{}' ~ '\\[1-9]' then  -- the one construct whose time is not bounded by the text's length
    perform raise_error('MR001', format('errorRules: the pattern %s refers back to a group', p_pattern),
      'leave out \1 to \9');
  end if;
  perform '' ~ (p_pattern #>> '{}');
exception when invalid_regular_expression then
  perform raise_error('MR001', format('errorRules: the pattern %s is not understood: %s', p_pattern, sqlerrm),
    'give a regular expression as PostgreSQL has them');
end $$;
