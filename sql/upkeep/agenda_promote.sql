-- agenda_promote: move jobs that have come due into the second track of their lane, oldest first. Any process may call
-- it. Rows that another process is moving are skipped, and those that were dropped stay for agenda_drop. Where jobs
-- have an order (chained) they stay where they are, and their group gets in line. Returns how many became claimable.
-- Reads along the index of due times. Sorting is turned off, so that the planner does not read all that waits in a lane
-- instead. p_lanes: of these lanes; null: of all.
-- Locks: the entry of lanes and agenda rows, skipped when taken. Writes: agenda, ticket, tally.
create or replace function agenda_promote(p_limit int default 1000, p_lanes bigint[] default null)
  returns int
language plpgsql set enable_sort = off as $$
declare
  v_promoted int;
  v_tickets ticket[];
  v_now timestamptz := clock_now();
  v_lanes bigint[];
  v_ordered bigint[];  -- those whose groups are chained
  v_serial bigint[];   -- those whose jobs without a group are
begin
  select array_agg(d.lane), array_agg(d.lane) filter (where chained(q.options, true)),
         array_agg(d.lane) filter (where chained(q.options, false))
    into v_lanes, v_ordered, v_serial
    from (select g.lane
            from (select distinct lane
                    from (select lane from agenda
                           where due_at <= v_now and (chain = 1) is not true
                             and (p_lanes is null or lane = any (p_lanes))
                           order by due_at limit p_limit) g) g
           where pg_try_advisory_xact_lock_shared(lane_entry(g.lane))) d
    left join lateral (select l.queue_id from lane_known l where l.key = d.lane limit 1) l on true
    left join queue q on q.id = l.queue_id;
  if v_ordered is not null or v_serial is not null then
    perform agenda_chain(v_ordered, v_serial, v_now, p_limit);
  end if;
  if exists (select from lane_purge p where p.leftover and p.lane = any (v_lanes)) then
    perform agenda_drop(v_lanes, p_limit);
  end if;
  with due as (
    delete from agenda where job_id = any (array(
      select g.job_id from agenda g
       where g.due_at <= v_now
         and g.lane = any (v_lanes)
         and g.chain is null
         and (g.lane = any (case when g.track = g.lane then v_serial else v_ordered end)) is not true
         and not (exists (select from lane_purge p where p.leftover and p.lane = g.lane) and agenda_dropped(g))
       order by g.due_at, g.job_id limit p_limit for update skip locked))
    returning *
  ), kept as (
    select d.*, again_of(d.track) as again,
           (row_number() over (partition by d.track, d.attempt, d.version, d.alone order by d.job_id) - 1) / 100
             as chunk
      from due d
  ), tickets as (
    select array_agg(ticket_of(again, jobs, attempt, version, alone, null) order by first) as made
      from (select again, attempt, version, alone, array_agg(job_id order by job_id) as jobs, min(job_id) as first
              from kept group by again, attempt, version, alone, chunk) t
  ), turns as (
    select array_agg(line_ticket_of(lane, tracks)) as made
      from (select lane, array_agg(again order by first) as tracks
              from (select lane, again, min(job_id) as first
                      from kept
                     where again <> again_of(lane)
                     group by lane, again) t
             group by lane) t
  ), counted as (
    insert into tally (lane, ready, delayed) select lane, count(*), -count(*) from kept group by lane
  )
  select count(*), (select made from tickets) || (select made from turns) into v_promoted, v_tickets from kept;
  perform tickets_write(v_tickets);
  return v_promoted;
end $$;

-- agenda_chain: chained jobs whose time has come: they stay where they are, count as ready, and their groups get in
-- line. Writes: agenda, ticket, tally.
create or replace function agenda_chain(p_ordered bigint[], p_serial bigint[], p_now timestamptz, p_limit int)
  returns void
language plpgsql set enable_sort = off as $$
declare
  v_tickets ticket[];
begin
  with due as (
    update agenda set chain = 1 where job_id = any (array(
      select g.job_id from agenda g
       where g.due_at <= p_now
         and (g.chain = 1) is not true
         and g.lane = any (case when g.track = g.lane then p_serial else p_ordered end)
       order by g.due_at, g.job_id limit p_limit for update skip locked))
    returning lane, track, job_id
  ), counted as (
    insert into tally (lane, ready, delayed) select lane, count(*), -count(*) from due group by lane
  )
  select array_agg(line_ticket_of(lane, tracks)) into v_tickets
    from (select lane, array_agg(track order by first) as tracks
            from (select lane, track, min(job_id) as first from due where track <> lane group by lane, track) t
           group by lane) t;
  perform tickets_write(v_tickets);
end $$;

-- agenda_unchain: release jobs that were chained in queues that have another order now: nobody takes them by their ids
-- any more. Those that are due go into the second track of their lane; the others will when their time comes.
-- Locks: the entry of lanes and agenda rows, skipped when taken. Writes: agenda, ticket.
create or replace function agenda_unchain() returns void
language plpgsql as $$
declare
  g agenda;
begin
  for g in
    select a.* from agenda a join lane l on l.key = a.lane join queue q on q.id = l.queue_id
     where a.chain is not null
       and not chained(q.options, a.track <> a.lane)
       and pg_try_advisory_xact_lock_shared(lane_entry(a.lane)) limit 10000 for update of a skip locked
  loop
    if g.chain = 1 then
      delete from agenda where job_id = g.job_id;
      perform tickets_append(g.lane, again_of(g.track), array[g.job_id], g.attempt, g.version, g.alone);
    else
      update agenda set chain = null where job_id = g.job_id;
    end if;
  end loop;
end $$;
