-- tenants_place: new tenants of a spread queue are to be here. It is for the cell that the list gives them to
-- (p_version of it) to say so, once. Returns those whose place is here then: a list that has changed meanwhile gives
-- new ones perhaps to another cell, and none is placed.
-- Locks: cell_list, shared. Writes: tenant_place. Raises: MR001, MR003, MR007.
create or replace function tenants_place(p_queue text, p_tenants text[], p_version int) returns text[]
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  perform isolation_check('the placing of a tenant');
  perform pg_advisory_xact_lock_shared(cell_list());
  if not exists (select from queue where id = v_id and options ? 'spread') then
    perform raise_error('MR001', format('queue "%s" is not spread by tenant', p_queue), 'enqueue without placing');
  elsif not exists (select from cell_member where version > p_version) then
    insert into tenant_place (queue_id, tenant)
    select v_id, name_check('tenant', t) from unnest(p_tenants) t order by t on conflict do nothing;
  end if;
  return tenants_here(p_queue, p_tenants);
end $$;

-- tenants_check: refuse jobs for a spread queue that name no tenant, or one whose place is not this cell. A cell that
-- is used alone is the place of all: its tenants are written down when they first come, so that they stay where they
-- are once there are more cells. p_jobs: an array of options as for job_enqueue_many; null for a job without any.
-- Writes: tenant_place. Raises: MR001, MR023.
create or replace function tenants_check(p_queue_id int, p_jobs json) returns void
language plpgsql as $$
declare
  v_queue constant text := (select q.name from queue q where q.id = p_queue_id);
  v_tenants constant text[] := array(
    select distinct o.value ->> 'tenant' from json_array_elements(p_jobs) o
     where coalesce(o.value ->> 'queue', (select f.queue from job_definition f where f.type = o.value ->> 'type'),
             'default') = v_queue);
  v_new text[];
begin
  if p_jobs is null or array_position(v_tenants, null) is not null then
    perform raise_error('MR001', format('queue "%s" is spread by tenant: each of its jobs needs one', v_queue),
      'give the option "tenant"');
  end if;
  v_new := array(
    select name_check('tenant', t) from unnest(v_tenants) t
     where not exists (select from tenant_place p where p.queue_id = p_queue_id and p.tenant = t) order by 1);
  if v_new = '{}' then
    return;
  elsif exists (select from cell_member) then
    perform raise_error('MR023', format('tenant "%s" of queue "%s" is not in this cell', v_new[1], v_queue),
      'enqueue by a client that has the list of cells: it knows the tenant''s cell, or chooses one',
      json_build_object('reason', 'foreign')::text);
  end if;
  insert into tenant_place (queue_id, tenant) select p_queue_id, t from unnest(v_new) t on conflict do nothing;
end $$;
