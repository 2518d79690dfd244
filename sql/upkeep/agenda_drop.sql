-- agenda_drop: remove rows that a purge or a shedding dropped from the agenda and from the counts, at most p_limit of
-- some lanes. What waits behind them in an ordered group may go on, and the end of suspended jobs is told. Rows that
-- somebody has locked are left for the next time. Returns how many.
-- Locks: agenda rows (skipped when taken). Writes: agenda, tally, ticket, lane_purge.
create or replace function agenda_drop(p_lanes bigint[], p_limit int) returns bigint
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_jobs bigint[];
  v_gone bigint;
  v_announced bigint;  -- read so that it is done
  v_suspended bigint[];
begin
  v_jobs := array(
    select g.job_id from unnest(p_lanes) l (lane) join agenda g on g.lane = l.lane
     where exists (select from lane_purge p where p.lane = l.lane and p.leftover) and agenda_dropped(g) limit p_limit);
  with gone as (
    delete from agenda g
     where g.job_id = any (array(select a.job_id from agenda a
                                  where a.job_id = any (v_jobs)
                                  order by a.job_id for update skip locked))
    returning g.*
  ), uncounted as (
    insert into tally (lane, ready, delayed, staged)
    select lane, -count(*) filter (where chain = 1), -count(*) filter (where (chain = 1) is not true), -count(stage)
      from gone
     group by lane
  ), announced as (
    select group_announce(x.queue_id, x.hash) from (
      select distinct l.queue_id, hash_of(g.track, g.lane) as hash
        from gone g
        join lane l on l.key = g.lane
        join queue q on q.id = l.queue_id
       where g.track <> g.lane and coalesce(q.options -> 'ordered', 'false') <> 'false') x
  )
  select count(*), (select count(*) from announced), array_agg(job_id) filter (where waits is not null)
    into v_gone, v_announced, v_suspended from gone;
  perform notice_append(v_suspended, 1);  -- they may have children, and parents
  if cardinality(v_jobs) = v_gone and (cardinality(v_jobs) < p_limit) is not false then
    update lane_purge p set leftover = false
     where p.ctid = any (array(select o.ctid from lane_purge o
                                where o.lane = any (p_lanes) and o.leftover for update skip locked));
  end if;
  return v_gone;
end $$;

-- agenda_tidy: agenda_drop as part of upkeep, for all lanes that may have such rows.
create or replace function agenda_tidy() returns void
language plpgsql as $$
declare
  v_lanes constant bigint[] := array(
    select p.lane from (select distinct lane from lane_purge where leftover order by lane limit 100) p
     where pg_try_advisory_xact_lock_shared(lane_entry(p.lane)));
begin
  if v_lanes <> '{}' then
    perform agenda_drop(v_lanes, 10000);
  end if;
end $$;
