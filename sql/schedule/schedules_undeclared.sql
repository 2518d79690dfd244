-- schedules_undeclared: schedules of an application other than these.
create or replace function schedules_undeclared(p_app text, p_names text[]) returns setof text
language sql stable security definer set search_path from current set jit = off as $$
  select name from schedule where app = p_app and name <> all (p_names) order by name limit 1000
$$;
