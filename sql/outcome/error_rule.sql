-- error_rule: the first of some rules that matches an error, or null. A rule with a code and a pattern needs both. A
-- lost attempt reported nothing, so only a rule for the code "lost" can match it.
create or replace function error_rule(p_rules jsonb, p_error json, p_lost boolean) returns jsonb
language sql immutable as $$
  select r.rule from jsonb_array_elements(p_rules) with ordinality r (rule, i)
   where case when r.rule ? 'code' then r.rule ->> 'code' = error_member(p_error, 'code') else not p_lost end
     and (not r.rule ? 'pattern'
          or error_message(p_error) ~ (r.rule ->> 'pattern')
          or error_member(p_error, 'name') ~ (r.rule ->> 'pattern'))
   order by r.i limit 1
$$;
