-- agenda_promote: move jobs that have come due into the second track of their lane, oldest first. Any process may call it.
-- Rows another process is moving are skipped; rows of a purged backlog vanish here. Returns how many became claimable.
-- Locks: the entry of lanes and agenda rows, skipped when taken. Writes: agenda, ticket, tally.
create or replace function agenda_promote(p_limit int default 1000) returns int
language plpgsql as $$
declare
  v_xid bigint := xid_now();
  v_promoted int;
  v_now timestamptz := clock_now();
  v_lanes bigint[];
begin
  v_lanes := array(select d.lane from (
    select distinct g.lane from (select lane from agenda where due_at <= v_now order by due_at limit p_limit) g) d
     where pg_try_advisory_xact_lock_shared(lane_entry(d.lane)));
  with due as (
    delete from agenda where job_id = any (array(
      select g.job_id from agenda g where g.due_at <= v_now and g.lane = any (v_lanes) order by g.due_at, g.job_id limit p_limit for update skip locked))
    returning *
  ), dropped as materialized (
    select d.job_id, d.lane, bool_and(p.before is not null) as counted
      from due d join lane_purge p on p.lane = d.lane and purge_saw(p, d.xid, d.job_id)
       and (p.group_key is null or p.group_key = (select j.group_key from job j where j.slot = job_slot(d.job_id) and j.id = d.job_id))
     group by d.job_id, d.lane
  ), uncounted as (  -- a purge has counted all that waits; jobs below an id are counted when they are met
    insert into tally (lane, delayed) select lane, -count(*) from dropped where counted group by lane
  ), kept as (
    select d.*, d.track + 1 as again, (row_number() over (partition by d.track, d.attempt, d.version, d.alone order by d.job_id) - 1) / 100 as chunk
      from due d where d.job_id not in (select job_id from dropped)
  ), tickets as (
    insert into ticket (lane, xid, slot, attempt, version, alone, jobs)
    select again, v_xid, ticket_slot(v_xid), attempt, version, alone, array_agg(job_id order by job_id)
      from kept group by again, track, attempt, version, alone, chunk order by min(job_id)
  ), turns as (
    insert into ticket (lane, xid, slot, jobs)
    select lane + 2, v_xid, ticket_slot(v_xid), array_agg(again order by first)
      from (select lane, again, min(job_id) as first from kept where again <> lane + 1 group by lane, again) t group by lane
  ), counted as (
    insert into tally (lane, ready, delayed) select lane, count(*), -count(*) from kept group by lane
  )
  select count(*) into v_promoted from kept;
  return v_promoted;
end $$;
