-- name_find: names of queues, types, groups or tenants that have a part in them, whatever the case, those that begin
-- with it first: what a search can be completed with. Groups and tenants are those of the newest 5,000 jobs, and groups
-- that have settings. Raises: MR001.
create or replace function name_find(p_kind text, p_part text default '', p_limit int default 20) returns setof text
language plpgsql stable security definer set search_path from current set jit = off
  set plan_cache_mode = force_custom_plan as $$
declare
  v_part constant text := lower(coalesce(p_part, ''));
begin
  if p_kind is null or p_kind not in ('queue', 'type', 'group', 'tenant') then
    perform raise_error('MR001', format('there are no names of "%s"', left(p_kind, 100)),
      'use queue, type, group or tenant');
  elsif p_limit is null or p_limit not between 1 and 1000 then
    perform raise_error('MR001', format('a list has 1 to 1000 names, not %s', p_limit), null);
  end if;
  return query
  select n.name from (
    select q.name from queue q where p_kind = 'queue'
    union
    select l.type from lane_known l where p_kind = 'type'
    union
    select d.type from job_definition d where p_kind = 'type'
    union
    select s.group_key from group_setting s where p_kind = 'group'
    union
    select case p_kind when 'group' then j.group_key else j.tenant end
      from (select k.group_key, k.tenant from job k where p_kind in ('group', 'tenant') order by k.id desc limit 5000) j
  ) n
   where n.name is not null and strpos(lower(n.name), v_part) > 0
   order by starts_with(lower(n.name), v_part) desc, n.name limit p_limit;
end $$;
