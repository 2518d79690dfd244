-- queue_purge_step: a step of purging a queue that may have too many lanes for one transaction (queue_purge): p_most
-- lanes, in the order of their keys. While it says more, it is to be called again, in a transaction of its own, with
-- what it returned: before and since, the moment of the first step, and after, the last lane that is done (null while
-- new lanes are still being found).
-- What was enqueued before that moment and waits when the turn of its lane comes is dropped. What is enqueued after it
-- stays, also in lanes whose turn is still to come: those are shed (queue_shed), so that jobs of their groups leave the
-- counts later. Who stops in between has purged some of the lanes, and may begin again. Returns how many have left the
-- counts.
-- Locks, writes: as queue_purge and queue_shed, for some of the lanes. Raises: MR001, MR003, MR007.
create or replace function queue_purge_step(p_queue text, p_before timestamptz default null,
  p_since bigint default null, p_after bigint default null, p_most int default 500,
  out purged bigint, out more boolean, out before timestamptz, out since bigint, out after bigint)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := queue_id(p_queue);
  v_first constant boolean := p_before is null;
  v_lanes bigint[];
  v_rest bigint[];
begin
  if p_most is null or p_most not between 1 and 10000 then
    perform raise_error('MR001', format('a step has 1 to 10000 lanes, not %s', p_most), null);
  elsif (p_since is null) <> v_first or v_first and p_after is not null then
    perform raise_error('MR001', 'a step needs all that the one before it returned, or nothing to begin with',
      'give its before, since and after');
  end if;
  since := coalesce(p_since, xmin_now());  -- before the time: who had ended by then enqueued before it
  before := coalesce(p_before, clock_now());
  if p_after is null then
    more := exists (select from scout where queue_id = v_queue_id offset p_most);
    -- waits while somebody makes lanes, else it would miss one that nobody has seen yet
    perform lane_discover(array[v_queue_id], p_most);
    if more then
      purged := 0;
      return;
    end if;
  end if;
  v_lanes := array(select key from lane
                    where queue_id = v_queue_id and not is_asleep and (key > p_after) is not false
                    order by key limit p_most + 1);
  more := cardinality(v_lanes) > p_most;
  v_lanes := v_lanes[1:p_most];
  after := v_lanes[cardinality(v_lanes)];
  -- when one step does it all, its snapshot parts what waits from what comes
  select p.purged, p.rest into purged, v_rest
    from lanes_purge(v_lanes, case when more or not v_first then since end) p;
  if v_rest <> '{}' then
    purged := purged + lanes_shed(v_rest, job_id_at(before), null);
  end if;
end $$;
