-- state_check: refuse what is not the name of a state; null is any. Raises: MR001.
create or replace function state_check(p_state text) returns void
language plpgsql immutable as $$
begin
  if not (state_is_final(p_state) or p_state in ('delayed', 'ready', 'running', 'blocked', 'suspended')) then
    perform raise_error('MR001', format('unknown state "%s"', p_state),
      'use delayed, ready, running, suspended, blocked, succeeded, failed, expired or cancelled');
  end if;
end $$;
