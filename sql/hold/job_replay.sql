-- job_replay: enqueue copies of jobs that ended within a time range (p_from inclusive, p_to exclusive, default now), in
-- the order in which they were enqueued. A copy is a new job of the same queue (or p_target). It names the first as its
-- source, and leaves expiry, deadline and fingerprint behind. p_per_second spreads the copies, from p_start_at on. Jobs
-- of finished queues are left out.
-- A batch looks at 10,000 jobs and makes p_limit copies at most, fewer when they have more than 64 MB of payload.
-- Returns how many it made (p_dry_run: would have), and what to give to the next call: until (as p_to), after (null:
-- that was all), start_at. p_to never lies in the future, so that copies are never replayed in turn.
-- Without p_after it searches the records of all attempts for the first job that ended within the range: they have no
-- index by time. Wakes the workers of the queues that got copies.
-- Locks: closed queues. Writes: as job_copy. Raises: MR001, MR003, MR014 when the target is finished.
create or replace function job_replay(p_from timestamptz, p_to timestamptz default null, p_queue text default null,
  p_type text default null, p_states text[] default '{succeeded,failed}', p_target text default null,
  p_per_second float8 default null, p_limit int default 1000, p_dry_run boolean default false,
  p_after bigint default null, p_start_at timestamptz default null,
  out replayed int, out until timestamptz, out after bigint, out start_at timestamptz)
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_target constant int := case when p_target is not null then queue_id(p_target) end;
  v_now constant timestamptz := clock_now();
  v_step constant interval := rate_step(p_per_second);
  v_look constant int := 10000;
  v_looked bigint[];
  v_matched int := 0;
  v_bytes bigint := 0;
  v_stirred int[] := '{}';
  j record;
begin
  until := coalesce(p_to, v_now);
  start_at := coalesce(p_start_at, v_now);
  replayed := 0;
  if p_from is null or p_from >= until or until > v_now then
    perform raise_error('MR001', format('nothing can have ended between %s and %s', p_from, until),
      'give a range that begins before it ends, and ends by now');
  elsif p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a batch has 1 to 10000 jobs, not %s', p_limit), null);
  elsif p_states is null or not p_states <@ '{succeeded,failed,expired}' or p_states = '{}' then
    perform raise_error('MR001', format('jobs that ended as %s cannot be replayed', coalesce(p_states::text, 'null')),
      'use succeeded, failed and expired');
  end if;
  perform spread_refuse(v_target, 'its jobs come by their tenant');
  if v_target is not null and queues_reenter(array[v_target]) <> '{}' then
    perform queue_refuse(v_target);
  end if;
  after := coalesce(p_after, least(
    (select min(a.job_id) from attempt a where a.finished_at >= p_from and a.finished_at < until),
    (select min(job_at(s.first_place)) from streak s where s.finished_at >= p_from and s.finished_at < until),
    (select min(m.job_id) from amendment m where m.closed_at >= p_from and m.closed_at < until)) - 1);
  v_looked := array(select k.id from job k where k.id > after and k.id < job_id_at(until) order by k.id limit v_look);
  for j in
    select k.id, k.queue_id, coalesce(k.payload_size, 0) as bytes from unnest(v_looked) u (id)
      join job k on k.slot = job_slot(u.id) and k.id = u.id
      left join amendment m on m.slot = k.slot and m.job_id = k.id
      left join lateral (select a.attempt, a.state, a.finished_at from job_attempt a
                          where a.slot = k.slot and a.job_id = k.id
                          order by a.attempt desc limit 1) last on true
      cross join lateral (select attempt_is_end(last.state, last.attempt, m.revived_after) as ended) e
     where (v_queue_id is null or k.queue_id = v_queue_id) and (p_type is null or k.type = p_type)
       and (case when e.ended then last.state else m.closed_as end)::text = any (p_states)
       and case when e.ended then last.finished_at else m.closed_at end >= p_from
       and case when e.ended then last.finished_at else m.closed_at end < until
     order by k.id limit p_limit
  loop
    after := j.id;
    v_matched := v_matched + 1;
    continue when queues_reenter(array[coalesce(v_target, j.queue_id)]) <> '{}';
    if not p_dry_run then
      perform job_copy(j.id, coalesce(v_target, j.queue_id), '{"replayed":true}', greatest(v_now, start_at));
      v_stirred := v_stirred || coalesce(v_target, j.queue_id);
    end if;
    replayed := replayed + 1;
    start_at := start_at + v_step;
    v_bytes := v_bytes + j.bytes;
    exit when v_bytes > 64000000 and not p_dry_run;
  end loop;
  perform queue_notify(array(select name from queue where id = any (v_stirred)));
  if v_matched < p_limit and (p_dry_run or v_bytes <= 64000000) then
    after := case when cardinality(v_looked) = v_look then v_looked[v_look] end;
  end if;
end $$;
