-- job_find: the ids of jobs that match every filter given, newest first, before p_before; and where to go on ("next"),
-- null when that was all. For people who look: it stops after p_seconds with what it has found until then, which may be
-- nothing. p_live: only jobs that have not ended. p_error: a part of the last error's message, whatever the case of its
-- letters. It goes back through the jobs a part at a time: what is fixed at enqueue is compared in the log, what is
-- derived in the view "jobs". Those that may be few among many are found where their state is written (job_candidates).
-- p_input: a part of the input as it is written, whatever the case; a JSON object or list: one that the input contains.
-- p_text: a part of the name of its queue, type, group or tenant, its fingerprint, its input or the message of its last
-- error. Both read the input of each job that is looked at; parts become smaller where that takes long.
-- p_failure: those whose last error is of this kind (error_fingerprint). p_ended_from, p_ended_to: those that ended at
-- that time or later, or before. Raises: MR001, MR003.
create or replace function job_find(p_queue text default null, p_state text default null, p_type text default null,
  p_tenant text default null, p_group text default null, p_fingerprint text default null, p_error text default null,
  p_undecided boolean default false, p_live boolean default false, p_created_from timestamptz default null,
  p_created_to timestamptz default null, p_before bigint default null, p_limit int default 100,
  p_seconds float8 default 2, p_input text default null, p_text text default null,
  p_failure text default null, p_ended_from timestamptz default null, p_ended_to timestamptz default null,
  out ids bigint[], out next bigint)
language plpgsql security definer set search_path from current set jit = off set plan_cache_mode = force_custom_plan
  set enable_sort = off as $$
declare
  v_queue_id constant int := case when p_queue is not null then queue_id(p_queue) end;
  v_from constant bigint := coalesce(job_id_at(p_created_from), 0);
  v_to bigint := least(coalesce(p_before, 9223372036854775807), coalesce(job_id_at(p_created_to), 9223372036854775807));
  v_until constant timestamptz := clock_timestamp() + seconds(p_seconds);
  v_part int := 200;
  v_some bigint[];
  v_last bigint;
  v_began timestamptz;
  v_input constant jsonb := case when p_input ~ '^\s*[\[{]' then json_part(p_input) end;
begin
  perform state_check(p_state);
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  ids := '{}';
  loop
    v_began := clock_timestamp();
    v_some := case
      -- of those there are few, or an index leads to them
      when num_nonnulls(p_tenant, p_fingerprint) > 0
        then array(select j.id from job j
                    where j.id >= v_from
                      and j.id < v_to
                      and (v_queue_id is null or j.queue_id = v_queue_id)
                      and (p_type is null or j.type = p_type)
                      and (p_tenant is null or j.tenant = p_tenant)
                      and (p_group is null or j.group_key = p_group)
                      and (p_fingerprint is null or j.fingerprint = p_fingerprint)
                    order by j.id desc limit v_part)
      else job_candidates(
        case when p_state is not null then p_state when p_undecided then 'undecided' when p_live then 'live' end,
        v_queue_id, p_type, p_group, v_from, v_to, v_part) end;
    v_last := case when cardinality(v_some) = v_part then v_some[v_part] end;
    if p_state is not null or p_undecided then  -- found elsewhere than in the log
      v_some := array(
        select j.id from unnest(v_some) u (id)
          cross join lateral (select * from job j where j.slot = job_slot(u.id) and j.id = u.id offset 0) j
         where (v_queue_id is null or j.queue_id = v_queue_id)
           and (p_type is null or j.type = p_type)
           and (p_group is null or j.group_key = p_group));
    end if;
    if p_input is not null then
      v_some := array(
        select j.id from unnest(v_some) u (id)
          join job j on j.slot = job_slot(u.id) and j.id = u.id
          left join amendment m on m.slot = j.slot and m.job_id = j.id
          cross join lateral (select case when m.replaced then m.input else j.input end as input offset 0) own
         where case when v_input is null then strpos(lower(own.input::text), lower(p_input)) > 0
                    else json_contains(own.input, v_input) end);
    end if;
    ids := ids || array(
      select v.id from jobs v
       where v.id = any (v_some)
         and (p_state is null or v.state = p_state)
         and (not coalesce(p_live, false) or not state_is_final(v.state))
         and (not coalesce(p_undecided, false) or is_undecided(v.state, v.discarded_at))
         and (p_queue is null or v.queue = p_queue)
         and (p_type is null or v.type = p_type)
         and (p_tenant is null or v.tenant = p_tenant)
         and (p_group is null or v."group" = p_group)
         and (p_fingerprint is null or v.fingerprint = p_fingerprint)
         and (p_error is null or strpos(lower(v.last_error ->> 'message'), lower(p_error)) > 0)
         and (p_failure is null or error_fingerprint(v.last_error) = p_failure)
         and (p_ended_from is null or v.finished_at >= p_ended_from)
         and (p_ended_to is null or v.finished_at < p_ended_to)
         and (p_text is null or strpos(lower(concat_ws(chr(10), v.queue, v.type, v."group", v.tenant, v.fingerprint,
                v.input, coalesce(v.last_error ->> 'message', v.last_error #>> '{}'))), lower(p_text)) > 0)
       order by v.id desc);
    if cardinality(ids) > p_limit then
      ids := ids[1:p_limit];
      next := ids[p_limit];
      return;
    elsif v_last is null then
      return;
    end if;
    v_to := v_last;
    if clock_timestamp() >= v_until then
      next := v_to;
      return;
    end if;
    v_part := case when clock_timestamp() > v_began + interval '100 ms' then greatest(v_part / 2, 20)
                   when clock_timestamp() > v_began + interval '40 ms' then v_part
                   else least(v_part * 2, 5000) end;
  end loop;
end $$;

-- job_candidates: the newest p_part jobs, by their ids, from p_from and before p_to, that may have a state, or may be
-- "undecided" (failed or expired), or "live" (not ended); null for all. Read where a state is written: in the claims,
-- the agenda, the attempts, the streaks, and what was amended; else in the log, without those that have ended. Queue,
-- type and group are compared in the log only.
create or replace function job_candidates(p_state text, p_queue_id int, p_type text, p_group text, p_from bigint,
  p_to bigint, p_part int) returns bigint[]
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
declare
begin
  return case
    when p_state = 'running'
      then array(select u.id from claim c
                   cross join lateral unnest(c.jobs) u (id)
                  where u.id >= p_from and u.id < p_to
                  order by 1 desc limit p_part)
    when p_state in ('delayed', 'suspended')
      then array(select g.job_id from agenda g
                  where g.job_id >= p_from and g.job_id < p_to and (g.waits is not null) = (p_state = 'suspended')
                  order by 1 desc limit p_part)
    when p_state = 'failed'
      then candidates_ended('{failed}', p_from, p_to, p_part)
    when p_state = 'cancelled'
      then ids_newest(candidates_ended('{cancelled}', p_from, p_to, p_part) || candidates_purged(p_from, p_to, p_part)
                      || candidates_amended('cancelled', p_from, p_to, p_part), p_part)
    when p_state in ('expired', 'undecided')
      then candidates_expired(p_state = 'undecided', p_queue_id, p_type, p_from, p_to, p_part)
    when p_state = 'succeeded'
      then ids_newest(candidates_ended('{succeeded}', p_from, p_to, p_part)
                      || candidates_streak(p_from, p_to, p_part), p_part)
    when p_state in ('ready', 'blocked', 'live')
      then candidates_waiting(p_state, p_queue_id, p_type, p_group, p_from, p_to, p_part)
    else array(select j.id from job j
                where j.id >= p_from
                  and j.id < p_to
                  and (p_queue_id is null or j.queue_id = p_queue_id)
                  and (p_type is null or j.type = p_type)
                  and (p_group is null or j.group_key = p_group)
                order by j.id desc limit p_part) end;
end $$;

-- ids_newest: so many of some ids, each once, the newest first.
create or replace function ids_newest(p_ids bigint[], p_part int) returns bigint[]
language sql immutable parallel safe as $$
  select array(select distinct u.id from unnest(p_ids) u (id) order by u.id desc limit p_part)
$$;

-- candidates_ended: jobs with an attempt that ended them so. The index of those that did not succeed serves all others.
create or replace function candidates_ended(p_states text[], p_from bigint, p_to bigint, p_part int) returns bigint[]
language plpgsql as $$
begin
  if p_states = '{succeeded}' then
    return array(select a.job_id from attempt a
                  where a.state = 'succeeded' and a.job_id >= p_from and a.job_id < p_to
                  order by 1 desc limit p_part);
  end if;
  return array(select a.job_id from attempt a
                where a.state <> 'succeeded' and a.state::text = any (p_states)
                  and a.job_id >= p_from and a.job_id < p_to
                order by 1 desc limit p_part);
end $$;

-- candidates_amended: jobs that ended so while they waited, or whose time to start by was changed, and has passed.
create or replace function candidates_amended(p_state text, p_from bigint, p_to bigint, p_part int) returns bigint[]
language plpgsql as $$
begin
  return array(select m.job_id from amendment m
                where m.job_id >= p_from and m.job_id < p_to
                  and (m.closed_as::text = p_state or (p_state = 'expired' and m.start_by <= clock_now()))
                order by 1 desc limit p_part);
end $$;

-- candidates_expired: jobs that expired, while they ran, came back or waited, or that nobody has noted as expired yet;
-- and those that failed, where they are wanted. The log is read no further down than to the last that the others gave.
create or replace function candidates_expired(p_failed boolean, p_queue_id int, p_type text, p_from bigint,
  p_to bigint, p_part int) returns bigint[]
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_ids bigint[] := candidates_ended(case when p_failed then '{expired,failed}' else '{expired}' end::text[],
    p_from, p_to, p_part);
begin
  v_ids := ids_newest(v_ids || candidates_amended('expired', coalesce(v_ids[p_part], p_from), p_to, p_part), p_part);
  return ids_newest(v_ids || array(
    select j.id from job j
     where j.id >= coalesce(v_ids[p_part], p_from) and j.id < p_to and j.start_by <= v_now
       and (p_queue_id is null or j.queue_id = p_queue_id)
       and (p_type is null or j.type = p_type)
     order by j.id desc limit p_part), p_part);
end $$;

-- candidates_purged: jobs of lanes of which something was purged or shed.
create or replace function candidates_purged(p_from bigint, p_to bigint, p_part int) returns bigint[]
language plpgsql as $$
declare
  v_lanes constant bigint[] := array(select distinct p.lane from lane_purge p);
begin
  return case when v_lanes = '{}' then '{}'
              else array(select j.id from job j
                          where j.id >= p_from and j.id < p_to
                            and lane_key(j.queue_id, j.type, j.priority, j.resources) = any (v_lanes)
                          order by j.id desc limit p_part) end;
end $$;

-- candidates_streak: jobs that succeeded in streaks. The newest ids are in the streaks that have the newest last ids:
-- each of those before it has one that is newer. Scans the streaks, which are few rows for many jobs.
create or replace function candidates_streak(p_from bigint, p_to bigint, p_part int) returns bigint[]
language plpgsql set enable_seqscan = on set enable_sort = on as $$
begin
  return array(
    select job_at(s.first_place + n.i)
      from (select x.first_place, x.length from streak x
             where job_at(x.first_place) < p_to and job_at(x.first_place + x.length - 1) >= p_from
             order by least(job_at(x.first_place + x.length - 1), p_to) desc limit p_part) s
      cross join lateral generate_series(0, s.length - 1) n (i)
     where job_at(s.first_place + n.i) >= p_from and job_at(s.first_place + n.i) < p_to
     order by 1 desc limit p_part);
end $$;

-- candidates_waiting: jobs of the log that have not ended; those that are due, for "ready" and "blocked", the one of
-- parts that nothing holds, the other of parts that something holds.
create or replace function candidates_waiting(p_state text, p_queue_id int, p_type text, p_group text, p_from bigint,
  p_to bigint, p_part int) returns bigint[]
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
  v_held constant int[] := array(
    select q.id from queue q
     where q.paused_at is not null or exists (select from pause z where z.queue_id = q.id and z.job_id is not null)
        or q.options ? 'waitsFor' and queue_waits(q.id) is not null);
begin
  if p_state = 'blocked' and v_held = '{}' and not exists (select from pause)
     and not exists (select from type_blocked b where b.until > v_now) then
    return '{}';
  end if;
  return array(
    select j.id from job j
     where j.id >= p_from
       and j.id < p_to
       and (p_queue_id is null or j.queue_id = p_queue_id)
       and (p_type is null or j.type = p_type)
       and (p_group is null or j.group_key = p_group)
       and (p_state = 'live' or (p_state = 'blocked') = (
              j.queue_id = any (v_held)
              or (j.queue_id, j.type) in (select b.queue_id, b.type from type_blocked b where b.until > v_now)
              or (j.queue_id, coalesce(j.group_key, '')) in (
                select z.queue_id, z.group_key from pause z where z.hash is not null and z.type is null)
              or (j.queue_id, j.type, coalesce(j.group_key, '')) in (
                select z.queue_id, z.type, z.group_key from pause z where z.hash is not null and z.type is not null)))
       and (p_state = 'live' or not exists (select from agenda g where g.job_id = j.id and g.due_at > v_now))
       and not exists (select from streak s
                        where s.slot = j.slot
                          and s.first_place = (select x.first_place from streak x
                                                where x.slot = j.slot and x.first_place <= job_place(j.id)
                                                order by x.first_place desc limit 1)
                          and s.first_place + s.length > job_place(j.id))
       and (not exists (select from attempt a
                         where a.slot = j.slot and a.job_id = j.id and a.state is not null)
            or exists (select from amendment m where m.slot = j.slot and m.job_id = j.id and m.revived_at is not null))
     order by j.id desc limit p_part);
end $$;

-- json_part: a text as JSON that inputs may contain. Raises: MR001.
create or replace function json_part(p_text text) returns jsonb
language plpgsql immutable as $$
begin
  return p_text::jsonb;
exception when others then
  perform raise_error('MR001', format('"%s" is not JSON', left(p_text, 200)),
    'give JSON such as {"account": 7}, or a text that does not begin with a bracket');
end $$;

-- json_contains: whether an input contains this; one that is no jsonb (a number too long for it) contains nothing.
create or replace function json_contains(p_input json, p_part jsonb) returns boolean
language plpgsql immutable as $$
begin
  return p_input::jsonb @> p_part;
exception when others then
  return false;
end $$;
