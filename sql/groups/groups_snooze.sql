-- groups_snooze: of groups whose turn has come, remember those that have no token, and when they will have one. Writes:
-- snooze.
create or replace function groups_snooze(p_lane bigint, p_queue_id int, p_rate jsonb, p_tracks bigint[]) returns void
language plpgsql as $$
begin
  insert into snooze (track, lane, due_at)
  select g.track, p_lane, clock_now() + make_interval(secs
    => least((1 - g.level) / (g.rate ->> 'perSecond')::float8, 1e9))
    from (select t.track, r.rate, bucket_level(group_bucket(p_queue_id, hash_of(t.track, p_lane)), r.rate) as level
            from (select distinct fresh_of(x) as track from unnest(p_tracks) x) t
            cross join lateral (select coalesce((select s.rate from group_setting s
              where s.queue_id = p_queue_id and s.hash = hash_of(t.track, p_lane)), p_rate) as rate) r
           where r.rate is not null) g
   where g.level < 1
  on conflict (track) do nothing;
end $$;

-- groups_wake: put groups in line again that waited for tokens which are there by now. p_lanes: of these lanes; null:
-- of all. Returns how many.
-- Locks: their rows, skipped when taken. Writes: snooze, ticket.
create or replace function groups_wake(p_lanes bigint[] default null) returns int
language plpgsql as $$
declare
  v_woken int;
begin
  with due as (
    delete from snooze where track = any (array(select track from snooze
      where due_at <= clock_now() and (p_lanes is null or lane = any (p_lanes)) order by due_at
      limit 1000 for update skip locked)) returning *
  ), turns as (
    insert into ticket (lane, xid, slot, jobs) select line_of(lane), xid_now(), ticket_slot(xid_now()),
      array_agg(track order by due_at) from due group by lane
  )
  select count(*) into v_woken from due;
  return v_woken;
end $$;
