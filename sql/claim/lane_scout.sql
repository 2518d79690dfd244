-- lane_scout: tell claimers of a lane that is not known yet, or rests, or is not known to have groups, jobs with a
-- cost, or jobs that were given more. Takes no lock. Writes: scout. A snapshot older than its statement (repeatable
-- read) may not see that the lane rests; then it is told in any case.
-- Raises: MR010 when two lanes share a hash.
create or replace function lane_scout(p_lane bigint, p_queue_id int, p_type text, p_priority int, p_resources jsonb,
  p_grouped boolean, p_costs boolean, p_heavy boolean default false) returns void
language plpgsql as $$
declare
  l lane;
begin
  select * into l from lane where key = p_lane;
  if found and (l.queue_id, l.type, l.priority, l.resources)
    is distinct from (p_queue_id, p_type, p_priority::smallint, p_resources) then
    perform raise_error('MR010', format('type "%s" and type "%s" share a lane key', p_type, l.type),
      'rename one of the types');
  elsif l.key is null or l.rest_xid is not null or (p_grouped and not l.grouped) or (p_costs and not l.costs)
    or (p_heavy and not l.heavy) or current_setting('transaction_isolation') <> 'read committed' then
    insert into scout (lane, queue_id, type, priority, resources, grouped, costs, heavy)
      values (p_lane, p_queue_id, p_type, p_priority, p_resources, p_grouped, p_costs, p_heavy);
  end if;
end $$;
