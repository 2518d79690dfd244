-- cell_look: who this cell is, and what it knows of the others: {"id", "name", "isUsed": it has queues or jobs of its
-- own, "version": of the list, "members": its changes, [{"name", "version", "state"}], "holders": workers that serve
-- it}.
create or replace function cell_look() returns json
language sql stable security definer set search_path from current set jit = off as $$
  select json_build_object(
    'id', s.id, 'name', s.name,
    'isUsed', exists (select from queue where name <> 'default') or exists (select from lane),
    'version', coalesce((select max(version) from cell_member), 0),
    'members', (select coalesce(json_agg(json_build_object('name', m.name, 'version', m.version, 'state', m.state)
                  order by m.version, m.name), '[]') from cell_member m),
    'holders', (select count(*) from cell_lease where until > clock_now()))
    from cell_self s
$$;
