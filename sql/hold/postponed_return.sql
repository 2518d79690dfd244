-- postponed_return: jobs that claims went round become claimable again once nobody holds them; until the end of this
-- transaction nobody else can hold them. Any process may call it. Jobs that were cancelled or changed meanwhile have a
-- higher version, and purged or shed ones are gone: they stay away, and their group gets in line. Where jobs have an
-- order (chained) they wait in the agenda, to be taken by their ids. p_lanes: of these lanes; null: of all.
-- Locks: the entry of lanes and the jobs' marks, skipped when taken. Writes: postponed, ticket, agenda, tally.
create or replace function postponed_return(p_lanes bigint[] default null) returns int
language plpgsql as $$
declare
  p postponed;
  v_n int := 0;
begin
  for p in
    delete from postponed where ctid = any (array(
      select o.ctid from postponed o
       where case when p_lanes is null or o.lane = any (p_lanes)  -- in this order: no lock is taken in vain
               then pg_try_advisory_xact_lock_shared(lane_entry(o.lane))
                 and pg_try_advisory_xact_lock(job_mark(o.job_id))
             end
       limit 200 for update skip locked))
    returning *
  loop
    if exists (select from lane_purge l where l.lane = p.lane and l.before is null and purge_saw(l, p.xid, p.job_id))
       or exists (select from amendment m
                   where m.slot = job_slot(p.job_id) and m.job_id = p.job_id and m.version > p.version) then
      -- the job behind it may have been passed over meanwhile
      perform group_announce(l.queue_id, hash_of(p.track, p.lane)) from lane l
       where l.key = p.lane and p.track <> p.lane;
      continue;
    end if;
    if exists (select from lane_purge l where l.lane = p.lane and l.is_open)
       and jobs_dropped(p.lane, array[p.job_id]) <> '{}' then
      perform jobs_uncount(p.lane, array[p.job_id], array[p.version]);
      perform group_announce(l.queue_id, hash_of(p.track, p.lane)) from lane l
       where l.key = p.lane and p.track <> p.lane;
      continue;
    end if;
    if (select chained(q.options, p.track <> p.lane) from lane l join queue q on q.id = l.queue_id
         where l.key = p.lane) then
      insert into agenda (job_id, due_at, lane, track, attempt, version, alone, created_at, chain)
      values (p.job_id, clock_now(), p.lane, p.track, p.attempt, p.version, p.alone, clock_now(), 1);
      if p.track <> p.lane then
        perform line_append(p.lane, array[p.track]);
      end if;
    else
      perform tickets_append(p.lane, again_of(p.track), array[p.job_id], p.attempt, p.version, p.alone);
    end if;
    v_n := v_n + 1;
  end loop;
  return v_n;
end $$;
