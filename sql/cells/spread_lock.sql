-- spread_lock: changes of what is set for a spread queue, in all of its cells, follow each other: whoever makes one has
-- this in the queue's oldest home until the other cells have it. The list of cells does not change meanwhile. Returns
-- its version. Locks: cell_list, shared; the spread queue's. Raises: MR007.
create or replace function spread_lock(p_queue text) returns int
language plpgsql security definer set search_path from current set jit = off as $$
begin
  perform isolation_check('a change in several cells');
  perform pg_advisory_xact_lock_shared(cell_list());
  perform pg_advisory_xact_lock(spread_change(p_queue));
  return (select coalesce(max(version), 0) from cell_member);
end $$;

-- spread_change: taken to change what is set for a spread queue.
create or replace function spread_change(p_queue text) returns bigint
language sql stable as $$ select hashtextextended(p_queue, 'tenant_place'::regclass::oid::bigint * 4) $$;

-- spread_check: refuse options that a spread queue cannot keep. They promise something of all of its jobs, and each
-- cell sees its own. Dead letters stay in the cell of their job, so their queue is in each cell too. Raises: MR001.
create or replace function spread_check(p_queue text, p_options jsonb) returns void
language plpgsql as $$
declare
  v_key constant text := (
    select k from unnest('{maxRunning,rate,waitsFor,finalStages,onFailure}'::text[]) k
     where p_options ? k and p_options ->> k not in ('continue', '[]') limit 1);
begin
  if v_key is not null then
    perform raise_error('MR001', format('a queue that is spread by tenant cannot have %s', v_key),
      'each cell would keep it by itself: limit groups (groupMaxRunning, groupRate), types or resources, or leave the '
        || 'queue in one cell');
  elsif exists (select from queue q where q.name = p_options ->> 'deadLetterQueue' and not q.options ? 'spread') then
    perform raise_error('MR001',
      format('queue "%s" is spread by tenant, and its deadLetterQueue is not', p_queue),
      'dead letters stay in the cell of their job: spread their queue too');
  end if;
end $$;

-- spread_refuse: refuse a queue that is spread, for something that is not about the jobs of one tenant. Raises: MR001.
create or replace function spread_refuse(p_queue_id int, p_what text) returns void
language plpgsql as $$
declare
  v_queue constant text := (select name from queue where id = p_queue_id and options ? 'spread');
begin
  if v_queue is not null then
    perform raise_error('MR001', format('queue "%s" is spread by tenant: %s', v_queue, p_what),
      'name a queue that is in one cell');
  end if;
end $$;
