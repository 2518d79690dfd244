-- Finishing: closed queues finish when their last job has ended, exactly once, and what waited for them is released.
--
-- An enqueue does not lock its queue, so a transaction that has not seen the close may still be open, with jobs that
-- nobody can see. But it had its number before it looked at the queue. So the first transaction that sees the close,
-- and gets a number after that, has a higher one than all of those (closed_before). Once every transaction below that
-- number has ended, a snapshot sees all jobs the queue will ever have. When none of them is live, the queue is
-- finished. Where a snapshot is older than its statement (repeatable read), the row is locked instead (queues_pin); so
-- it is for jobs that come back (queues_reenter).

-- queues_finish: finish the closed queues that are done; p_new are those that queues_closing named. When nothing else
-- of a closed queue is left, the next of its finalStages is released. Returns how many were finished.
-- Locks: rows of queues that look done, skipped when taken. Writes: queue, queue_event; agenda, amendment and tally of
-- released stages.
create or replace function queues_finish(p_new int[]) returns int
language plpgsql as $$
declare
  v_locked int[];
  v_count int := 0;
  v_stage text;
  q record;
begin
  delete from queue_event where id = any (array(
    select id from queue_event
     where id <= (select max(id) from queue_event) - 10000
     order by id limit 1000 for update skip locked));
  if p_new is null then
    return 0;
  end if;
  update queue set closed_before = xid_now() where id = any (array(
    select id from queue where id = any (p_new) and closed_before is null for no key update skip locked));
  -- The first look costs no locks; the second has a snapshot that is newer than they are, and so than all that came
  -- back in (queues_reenter).
  v_locked := array(select id from queue where id = any (array(
    select d.id from queues_done(array(select id from queue where closed_at is not null and finished_at is null)) d))
     order by id for no key update skip locked);
  for q in select * from queues_done(v_locked) loop
    if q.delayed = 0 then
      -- not before its last job, whose end the look above has seen
      update queue set finished_at = clock_now() where id = q.id;
      v_count := v_count + 1;
      if exists (select from queue_move m where m.queue_id = q.id) then  -- it goes on in another cell
        delete from fingerprint where queue_id = q.id and job_id <= 0 and cell is null;
        perform queue_event_add(q.name, 'drained');
        continue;
      end if;
      perform queue_event_add(q.name, 'finished');
      perform queue_event_add(b.name, 'released', null, format('queue "%s" has finished', q.name)),
        queue_notify(array[b.name])
         from queue b where b.options -> 'waitsFor' ? q.name and queue_waits(b.id) is null;
    elsif not exists (select from queue_move m where m.queue_id = q.id) then
      select s.name into v_stage from jsonb_array_elements_text(q.stages) with ordinality s (name, i)
       where exists (select from stages g where g.queue = q.name and g.stage = s.name) order by s.i limit 1;
      if found then
        perform stage_release(q.name, v_stage, null, 'millrace', 'all others have ended');
        perform queue_notify(array[q.name]);
      end if;
    end if;
  end loop;
  return v_count;
end $$;

-- queues_closing: the closed queues that have no number yet (closed_before). To be called before this transaction has a
-- number itself. Null when there is nothing to finish, or somebody else does it. While queue_links is held, nobody can
-- open a queue and close it again.
-- Locks: queue_links (skipped when taken).
create or replace function queues_closing() returns int[]
language plpgsql as $$
begin
  if not exists (select from queue where closed_at is not null and finished_at is null)
    or not pg_try_advisory_xact_lock(queue_links()) then
    return null;
  elsif pg_current_xact_id_if_assigned() is not null then
    return '{}';
  end if;
  return array(select id from queue where closed_at is not null and finished_at is null and closed_before is null);
end $$;

-- queues_done: which of some closed queues have no live jobs but staged ones (delayed says how many), wait for no other
-- queue, and have no failed job to be decided on (onFailure); and all transactions that may have enqueued without
-- seeing the close have ended. One statement, so one snapshot. The counts say when to look, the logs decide; where they
-- disagree, upkeep corrects the counts (counts_prove).
create or replace function queues_done(p_queue_ids int[])
  returns table (id int, name text, stages jsonb, delayed bigint)
language plpgsql as $$
begin
  return query
  with live as (
    select l.queue_id, sum(x.ready)::bigint as ready, sum(x.delayed)::bigint as delayed, sum(x.staged)::bigint as staged
      from (select t.lane, t.ready, t.delayed, t.staged from tally t
            union all
            select d.lane, d.ready, d.delayed, d.staged from lane_depth d
            union all
            select c.lane, cardinality(c.jobs), 0, 0 from claim c) x
      join lane_known l on l.key = x.lane
     where l.queue_id = any (p_queue_ids)
     group by 1)
  select q.id, q.name, q.options -> 'finalStages', coalesce(live.delayed, 0)
    from queue q
    left join live on live.queue_id = q.id
   where q.id = any (p_queue_ids)
     and q.closed_at is not null
     and q.finished_at is null
     and not exists (select from queue_move m where m.queue_id = q.id and not m.is_leaving)  -- nothing has come yet
     and q.closed_before <= xmin_now()
     and coalesce(live.ready, 0) = 0
     and coalesce(live.delayed, 0) = coalesce(live.staged, 0)
     and queue_waits(q.id) is null
     and not exists (select from pause z where z.queue_id = q.id and z.job_id is not null)
     and not exists (select from claim c join lane l on l.key = c.lane where l.queue_id = q.id)
     and not exists (select from lane_known l
                       cross join lateral lane_waiting(l.key, 1000000000) w
                      where l.queue_id = q.id and not w.is_dropped and not w.is_staged)
   order by q.id;
end $$;
