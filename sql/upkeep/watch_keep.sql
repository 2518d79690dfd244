-- The watch. Jobs that were enqueued by plain SQL, that have come due, or whose claim was lost tell nobody. A few
-- workers look for them on behalf of all, by turns, and wake the others by NOTIFY; so what it costs does not depend on
-- how many workers there are. Who keeps the watch, and when each of them looks next, stands in the row "watch" of duty:
-- "holder" is {process: {"id", "at"}}, "until" the last time given to one who stands by.

-- watch_keep: one look, and when this worker's next one is. Up to three processes keep the watch, their looks
-- p_every_seconds apart; the others stand by, and look every 30 seconds, or every two seconds all of them together. One
-- who did not look in time has left: who finds that calls all who stand by. p_may_keep: false stands by only. Returns
-- {"kept": somebody keeps it, "inSeconds", "keeps": this worker does, "upkeep": maintain is due, "schedules": nobody
-- makes the runs of schedules, "notices": there are some to deliver}. Commits asynchronously when it is a transaction
-- of its own.
-- Locks: the duty's row (skipped when taken). Writes: duty. Raises: MR001.
create or replace function watch_keep(p_process text, p_id text, p_every_seconds float8 default 1,
  p_may_keep boolean default true) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now constant timestamptz := clock_now();
  v_at constant float8 := date_part('epoch', v_now);
  v_late constant float8 := 0.5;  -- so much later than its time a look may be
  d duty;
  v_was jsonb;
  v_others jsonb;
  v_own jsonb;
  v_other float8;
  v_keeps boolean;
  v_kept boolean;
  v_next float8;
begin
  if p_process is null or p_id is null or not p_every_seconds between 0.1 and 60 or p_may_keep is null then
    perform raise_error('MR001', 'a process, an id and 0.1 to 60 seconds between looks are needed', null);
  elsif greatest(length(p_process), length(p_id)) > 500 then
    perform raise_error('MR001', 'the name of a process has at most 500 characters', null);
  end if;
  if pg_current_xact_id_if_assigned() is null then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if not exists (select from duty where name = 'watch') then
    insert into duty (name, holder) values ('watch', '{}') on conflict do nothing;
  end if;
  select * into d from duty where name = 'watch' for update skip locked;
  if not found then
    return '{"kept": true, "keeps": false, "inSeconds": 0.1, "upkeep": false, "schedules": false}';
  end if;

  v_was := coalesce(d.holder::jsonb, '{}');
  select coalesce(jsonb_object_agg(k.key, k.value), '{}') into v_others from jsonb_each(v_was) k
    where k.value ->> 'id' <> p_id and (k.value ->> 'at')::float8 between v_at - v_late and v_at + 600;
  v_keeps := p_may_keep and not v_others ? p_process and (select count(*) < 3 from jsonb_object_keys(v_others));
  v_kept := v_keeps or v_others <> '{}';
  if v_keeps then
    -- after the others who follow closely; the first gap between them is this worker's
    v_next := v_at;
    for v_other in select (k.value ->> 'at')::float8 from jsonb_each(v_others) k order by 1 loop
      exit when v_other > v_next + 1.1 * p_every_seconds;
      v_next := greatest(v_next, v_other);
    end loop;
    v_next := v_next + p_every_seconds;
    v_own := jsonb_build_object(p_process, jsonb_build_object('id', p_id, 'at', v_next));
  elsif v_kept then
    v_next := least(greatest(v_at + 30, date_part('epoch', greatest(d.until, v_now)) + 2), v_at + 3600);
    d.until := to_timestamp(v_next);
  else
    v_next := v_at + 5;
  end if;
  if d.until > v_now and v_keeps and exists (select from jsonb_each(v_was) k
    where k.value ->> 'id' <> p_id and not v_others ? k.key) then
    perform watch_call();
  end if;
  update duty set holder = (v_others || coalesce(v_own, '{}'))::text, until = least(d.until, v_now + interval '1 hour'),
    done_at = v_now where name = 'watch';
  perform queue_notify(array(select queues_stirred(v_now)));
  return json_build_object('kept', v_kept, 'keeps', v_keeps, 'inSeconds', v_next - v_at,
    'upkeep', exists (select from duty where name = 'maintain' and done_at <= v_now - interval '4.5 seconds'),
    'schedules', exists (select from schedule) and exists (select from duty where name = 'schedule'
      and until <= v_now), 'notices', notices_wait());
end $$;

-- watch_call: tell those who stand by that the watch has room. No queue has such a name.
create or replace function watch_call() returns void
language sql as $$ select queue_notify('{!watch}') $$;

-- queues_stirred: the queues in which a claim may find something: jobs that are ready by their counts or have come due,
-- or claims that were lost. At most a thousand.
create or replace function queues_stirred(p_now timestamptz) returns setof text
language sql volatile as $$
  select distinct q.name
    from (select d.lane from (select lane, ready from lane_depth where ready <> 0
            union all select lane, ready from tally) d group by d.lane having sum(d.ready) > 0
          union
          (select g.lane from (select lane, chain from agenda where due_at <= p_now order by due_at limit 1000) g
            where (g.chain = 1) is not true)
          union
          select c.lane from claim c where c.until <= p_now) w
    join lane_known l on l.key = w.lane
    join queue q on q.id = l.queue_id and q.paused_at is null
   where not exists (select from pause z where z.queue_id = q.id and z.job_id is not null)
   limit 1000
$$;
