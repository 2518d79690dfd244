-- rate_step: the time between two jobs that are spread by a rate; none without one. Raises: MR001.
create or replace function rate_step(p_per_second float8) returns interval
language plpgsql immutable as $$
begin
  if not p_per_second between 0.0001 and 1e6 then
    perform raise_error('MR001', format('%s jobs per second are not possible', p_per_second),
      'give 0.0001 to 1,000,000, or null for all at once');
  end if;
  return coalesce(make_interval(secs => 1 / p_per_second), interval '0');
end $$;
