-- cell_join: this cell is called p_self, and what the list of cells has come by is p_members ([{"name", "version",
-- "state"}]: each change of it), where that is newer than what it knows. Who places a queue has done so before, or sees
-- the new list. Returns what cell_look does. Locks: cell_list, exclusive. Writes: cell_self, cell_member. Raises:
-- MR001; MR023 when it has another name, or another change is under way.
create or replace function cell_join(p_self text, p_members jsonb) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_name text;
begin
  if p_self is null or p_self !~ '^[a-z][a-z0-9-]{0,30}$' or jsonb_typeof(p_members) is distinct from 'array' then
    perform raise_error('MR001', 'a cell has a name, and members are a list',
      'use 1 to 31 lower-case letters, digits and -, beginning with a letter');
  end if;
  perform isolation_check('a change of the list of cells');
  perform pg_advisory_xact_lock(cell_list());
  select name into v_name from cell_self;
  if v_name <> p_self then
    perform raise_error('MR023', format('the cell that is called "%s" here is "%s"', p_self, v_name),
      'give every process the same list of cells', json_build_object('reason', 'name', 'cell', p_self)::text);
  end if;
  -- a second list beside the first would have the same version
  if exists (select from cell_member c where c.version % 2 = 1
               and not exists (select from members_of(p_members) m
                                where m.name = c.name and m.state = c.state
                                  and m.version in (c.version, c.version + 1)))
     or exists (select from members_of(p_members) m
                 where m.version <= (select max(version) from cell_member)
                   and not exists (select from cell_member c
                                    where c.name = m.name and c.state = m.state
                                      and c.version in (m.version, m.version + m.version % 2))) then
    perform raise_error('MR023', 'another change of the list of cells is under way, or came first',
      'read the list again, and change it once at a time',
      json_build_object('reason', 'joining', 'cell', p_self)::text);
  end if;
  update cell_self set name = p_self where name is null;
  update cell_member c set version = m.version from members_of(p_members) m
   where c.name = m.name and c.version % 2 = 1 and c.version + 1 = m.version;
  insert into cell_member (name, version, state)
  select m.name, m.version, m.state from members_of(p_members) m
   where not exists (select from cell_member c
                      where c.name = m.name and c.version in (m.version, m.version + m.version % 2))
  on conflict do nothing;
  -- who was told to make a queue here, and has not yet, is to ask again
  delete from cell_place p
   where p.cell is null and not exists (select from queue q where q.name = p.queue)
     and (select c.state from cell_member c where c.name = p_self order by c.version desc limit 1) = 'removed';
  return cell_look();
end $$;

-- cell_takes_queues: refuse a new queue in a cell that was removed, and keep it from being removed meanwhile. p_self:
-- what it is called, where it need not know. Locks: cell_list, shared. Raises: MR032.
create or replace function cell_takes_queues(p_self text default null) returns void
language plpgsql as $$
declare
  v_self constant text := coalesce(p_self, (select name from cell_self));
begin
  perform pg_advisory_xact_lock_shared(cell_list());
  if (select c.state from cell_member c where c.name = v_self order by c.version desc limit 1) = 'removed' then
    perform move_refuse('cell', format('the cell "%s" was removed', v_self), 'use another one');
  end if;
end $$;

-- members_of: the changes of the list of cells as rows. A cell without a state is in it.
create or replace function members_of(p_members jsonb) returns table (name text, version int, state text)
language sql immutable as $$
  select m.name, m.version, coalesce(m.state, 'in')
    from jsonb_to_recordset(p_members) m (name text, version int, state text)
$$;

-- cell_list: taken to change the list of cells, shared by those who place queues by it.
create or replace function cell_list() returns bigint
language sql stable as $$ select hashint8extended(0, 'cell_member'::regclass::oid::bigint * 4) $$;
