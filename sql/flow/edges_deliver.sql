-- How jobs of a flow begin, or never do, when those have ended that they wait for. Part of notices_deliver.

-- edges_deliver: jobs have ended, so: who waits for them is told, once for each. Returns who may begin. Writes: step,
-- agenda, ticket, and as waiters_cancel.
create or replace function edges_deliver(p_jobs bigint[], p_states text[]) returns bigint[]
language plpgsql as $$
declare
  v_many constant int := 10;  -- so many that wait for the same job alone are noted in one row, that of their flow
  v_targets bigint[]; v_waiters bigint[]; v_states text[];  -- edges, side by side
  v_waiting bigint[];
  v_is_all boolean;
  v_begin bigint[]; v_never bigint[];
  v_counts boolean;
  v_counted bigint[]; v_ns int[]; v_bad int[];
begin
  select array_agg(e.target), array_agg(e.waiter), array_agg(e.state) into v_targets, v_waiters, v_states
    from (select job_slot(u.id) as slot, array_agg(u.id) as jobs, array_agg(u.state) as states
            from unnest(p_jobs, p_states) u (id, state) group by 1) d
    cross join lateral edges_read(d.slot, d.jobs, d.states) e;
  if v_waiters is null then
    return '{}';
  end if;
  v_waiting := runs_lock(v_waiters);
  v_is_all := cardinality(v_waiting) = cardinality(v_waiters);  -- else a long list to search
  -- What waits for one job alone has nothing to count: it waits, so it was not told yet.
  with told as materialized (
    select e.target, e.waiter, e.state, g.job_id is not null as is_single, (g.waits ->> 'in')::bigint as flow,
           case g.waits ->> 'when' when 'ended' then true when 'failed' then e.state <> 'succeeded'
             else e.state = 'succeeded' end as begins
      from unnest(v_targets, v_waiters, v_states) e (target, waiter, state)
      left join agenda g on g.job_id = e.waiter and g.waits @> '{"of": 1}' and (v_is_all or g.job_id = any (v_waiting))
  ), many as (
    select flow, target, state, array_agg(waiter) as jobs from told where flow is not null group by 1, 2, 3
    having count(*) >= v_many
  ), noted as (
    insert into step (job_id, slot, key, kind, n, at, other, about, jobs)
    select flow, job_slot(flow), 'after', 'ended', nextval('step_id_seq'), clock_now(), target, state, jobs from many
  )
  select array_agg(t.waiter) filter (where t.is_single and t.begins),
         array_agg(t.waiter) filter (where t.is_single and not t.begins), bool_or(not t.is_single),
         array_agg(t.target) filter (where m.flow is null), array_agg(t.waiter) filter (where m.flow is null),
         array_agg(t.state) filter (where m.flow is null)
    into v_begin, v_never, v_counts, v_targets, v_waiters, v_states
    from told t left join many m on m.flow = t.flow and m.target = t.target;
  if v_waiters is not null then
    select array_agg(c.job_id), array_agg(c.n), array_agg(c.bad) into v_counted, v_ns, v_bad
      from (select t.job_id, count(*)::int as n, count(*) filter (where t.about <> 'succeeded')::int as bad
              from (select job_slot(u.waiter) as slot, array_agg(u.waiter) as waiters, array_agg(u.target) as targets,
                           array_agg(u.state) as states
                      from unnest(v_targets, v_waiters, v_states) u (target, waiter, state) group by 1) e
              cross join lateral ends_append(e.slot, e.waiters,
                array_fill('after'::text, array[cardinality(e.waiters)]), e.targets, e.targets, e.states, null, null) t
             group by 1) c;
  end if;
  if v_never is not null then
    perform waiters_cancel(v_never);
  end if;
  if not v_counts or v_counted is null then
    return coalesce(v_begin, '{}');
  end if;
  update agenda g
     set waits = g.waits || jsonb_build_object('after', (g.waits ->> 'after')::int - u.n,
           'bad', (g.waits ->> 'bad')::int + u.bad)
    from unnest(v_counted, v_ns, v_bad) u (job, n, bad)
   where g.job_id = u.job and g.waits ? 'after' and not g.waits @> '{"of": 1}'
     and (v_is_all or g.job_id = any (v_waiting));
  return coalesce(v_begin, '{}') || waiters_decide(v_waiting);
end $$;

-- edges_read_00 to edges_read_31, edges_read: who waits for the end of these jobs, of one ring child. ends_append_00 to
-- ends_append_31, ends_append: note in jobs of one ring child that others have ended, each once: p_keys and p_ns are
-- of the rows, p_others the jobs that have ended. Returns what is new. ends_gather_00 to ends_gather_31, ends_gather:
-- note in a flow that many of its jobs have succeeded, in one row. A job that it was told of by itself is left out, one
-- that is in another such row is not (flow_ends). Returns how many. One function per ring child, as for steps
-- (steps_append_to). Writes: step.
do $do$
declare
  s text;
begin
  for i in 0 .. 31 loop
    s := lpad(i::text, 2, '0');
    execute format($function$
      create or replace function edges_read_%1$s(p_jobs bigint[], p_states text[])
        returns table (target bigint, waiter bigint, state text)
      language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $body$
      begin
        return query
        select e.target, e.waiter, u.state
          from unnest(p_jobs, p_states) u (id, state) join edge_%1$s e on e.target = u.id;
      end $body$ $function$, s);
    execute format($function$
      create or replace function ends_append_%1$s(p_jobs bigint[], p_keys text[], p_ns bigint[], p_others bigint[],
        p_states text[], p_values json[], p_errors json[]) returns table (job_id bigint, key text, about text)
      language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $body$
      declare
        v_now constant timestamptz := clock_now();
      begin
        return query
        insert into step_%1$s as s (job_id, slot, key, kind, n, at, other, about, value, error)
        select u.job, %2$s, u.key, 'ended', u.n, v_now, u.other, u.state, u.value, u.error
          from unnest(p_jobs, p_keys, p_ns, p_others, p_states, p_values, p_errors)
            u (job, key, n, other, state, value, error)
         where exists (select from job_%1$s j where j.id = u.job)
        on conflict do nothing
        returning s.job_id, s.key::text, s.about;
      end $body$ $function$, s, i);
    execute format($function$
      create or replace function ends_gather_%1$s(p_flow bigint, p_jobs bigint[]) returns int
      language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $body$
      declare
        v_new constant bigint[] := array(
          select u.id from unnest(p_jobs) u (id)
           where not exists (select from step_%1$s s
                              where s.job_id = p_flow and s.key = 'job' and s.kind = 'ended' and s.n = u.id));
      begin
        insert into step_%1$s (job_id, slot, key, kind, n, at, about, jobs)
        select p_flow, %2$s, 'job', 'ended', nextval('step_id_seq'), clock_now(), 'succeeded', v_new
         where v_new <> '{}' and exists (select from job_%1$s j where j.id = p_flow);
        return case when found then cardinality(v_new) else 0 end;
      end $body$ $function$, s, i);
  end loop;
  execute 'create or replace function ends_gather(p_slot smallint, p_flow bigint, p_jobs bigint[]) returns int '
    || 'language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return ends_gather_%s(p_flow, p_jobs);', i, lpad(i::text, 2, '0')),
                          ' ') from generate_series(0, 31) i)
    || ' end case; end $body$';
  execute 'create or replace function edges_read(p_slot smallint, p_jobs bigint[], p_states text[]) '
    || 'returns table (target bigint, waiter bigint, state text) language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return query select * from edges_read_%s(p_jobs, p_states);', i,
                                 lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
  execute 'create or replace function ends_append(p_slot smallint, p_jobs bigint[], p_keys text[], p_ns bigint[], '
    || 'p_others bigint[], p_states text[], p_values json[], p_errors json[]) '
    || 'returns table (job_id bigint, key text, about text) language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return query select * from ends_append_%s(p_jobs, p_keys, p_ns, '
                                 'p_others, p_states, p_values, p_errors);', i, lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;

-- edges_check: jobs that wait for others which were there before: those that have ended are told of, and of the others
-- the end will be. Each is held meanwhile, so that nobody claims it without knowing (job_hold). Where that has to wait
-- for too long, it is tried again with the next notices. Returns who may begin. Writes: agenda, amendment, claim,
-- ticket, and as edges_deliver.
create or replace function edges_check(p_jobs bigint[]) returns bigint[]
language plpgsql set lock_timeout = '500ms' as $$
declare
  v_waiters constant bigint[] := array(
    select g.job_id from agenda g where g.job_id = any (p_jobs) and g.waits ? 'check');
  v_targets bigint[];
  v_ended bigint[]; v_states text[];
begin
  if v_waiters = '{}' then
    return '{}';
  end if;
  v_targets := array(
    select distinct t.id::bigint from agenda g cross join lateral jsonb_array_elements_text(g.waits -> 'check') t (id)
     where g.job_id = any (v_waiters) order by 1);
  perform job_hold(v_targets);
  insert into amendment (job_id, slot, linked, updated_at)
  select j.id, j.slot, true, clock_now() from unnest(v_targets) t (id)
    join job j on j.slot = job_slot(t.id) and j.id = t.id
  on conflict do nothing;
  update amendment m set linked = true
    from unnest(v_targets) t (id)
   where m.slot = job_slot(t.id) and m.job_id = t.id and not m.linked;
  perform from claim where jobs && v_targets order by token, part for update;
  update claim set linked = true where jobs && v_targets and not linked;
  update agenda set waits = (waits - 'check') || jsonb_build_object('others', waits -> 'check')  -- who may be purged
   where job_id = any (v_waiters);
  select array_agg(o.job_id), array_agg(o.state) into v_ended, v_states from job_outcomes(v_targets) o;
  return edges_deliver(v_ended, v_states);
exception when lock_not_available or deadlock_detected then
  perform notice_append(v_waiters, 2);
  return '{}';
end $$;

-- waiters_decide: which of these jobs, which the caller has locked, may begin. Those that never will are cancelled.
-- Writes: as waiters_cancel.
create or replace function waiters_decide(p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
  v_begin bigint[];
  v_never bigint[];
begin
  select array_agg(g.job_id) filter (where g.is_over and case g.kind when 'ended' then true when 'failed' then g.bad > 0
                                                           else g.bad = 0 end),
         array_agg(g.job_id) filter (where g.kind = 'succeeded' and g.bad > 0
                                       or g.is_over and g.kind = 'failed' and g.bad = 0)
    into v_begin, v_never
    from (select job_id, (waits ->> 'after')::int <= 0 as is_over, waits ->> 'when' as kind,
      (waits ->> 'bad')::int as bad
            from agenda where job_id = any (p_jobs) and waits ? 'after') g;
  if v_never is not null then
    perform waiters_cancel(v_never);
  end if;
  return coalesce(v_begin, '{}');
end $$;

-- waiters_cancel: end jobs of a flow that will never begin, and which the caller has locked in the agenda: nobody can
-- claim them. One that somebody decides on right now is looked at again with the next notices. Locks: job marks,
-- skipped when taken. Writes: agenda, amendment, tally, fingerprint, ticket.
create or replace function waiters_cancel(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  v_held constant bigint[] := array(select id from unnest(p_jobs) id where pg_try_advisory_xact_lock(job_mark(id)));
  g record;
begin
  perform notice_append(array(select id from unnest(p_jobs) id where id <> all (v_held)), 2);
  for g in
    with gone as (
      delete from agenda where job_id = any (v_held) returning job_id, lane, waits ->> 'when' as kind
    ), uncounted as (
      insert into tally (lane, delayed) select lane, -count(*) from gone group by lane
    )
    select job_slot(job_id) as slot, kind, array_agg(job_id) as jobs from gone group by 1, 2
  loop
    perform fingerprint_release(job_close_waiting(g.slot, g.jobs, 'cancelled', json_build_object('message',
      case when g.kind = 'failed' then 'nothing that it waited for has failed'
           else 'a job that it waited for did not succeed' end)));
  end loop;
end $$;

-- flows_end: of suspended jobs that wait for no other, which the caller has locked, end those that are flows, with the
-- number of their jobs by state as the result. A flow has failed when one of its jobs failed or expired. One that was
-- added to meanwhile goes on, and one that somebody adds to right now is looked at again with the next notices. Returns
-- the others. Locks: flow_lock, skipped when taken. Writes: attempt, agenda, tally, fingerprint, ticket.
create or replace function flows_end(p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
  f record;
  v_total int;
  v_ended int;
  v_counts jsonb;
  v_state job_final_state;
  v_slot smallint;
begin
  if p_jobs is null then
    return '{}';
  end if;
  for f in select job_id, lane, created_at from agenda where job_id = any (p_jobs) and waits ? 'flow' loop
    v_slot := job_slot(f.job_id);
    p_jobs := array_remove(p_jobs, f.job_id);
    if not pg_try_advisory_xact_lock(flow_lock(f.job_id)) then
      perform notice_append(array[f.job_id], 2);
      continue;
    end if;
    v_total := flow_total(f.job_id);
    select coalesce(jsonb_object_agg(s.about, s.n), '{}'), coalesce(sum(s.n), 0) into v_counts, v_ended
      from (select e.about, count(*) as n from flow_ends(f.job_id) e group by 1) s;
    if v_ended < v_total then
      update agenda set waits = waits || jsonb_build_object('children', jsonb_build_object('job', v_total - v_ended),
          'totals', jsonb_build_object('job', v_total))
       where job_id = f.job_id;
      continue;
    end if;
    v_state := case when v_counts ?| '{failed,expired}' then 'failed' else 'succeeded' end;
    delete from agenda where job_id = f.job_id;
    insert into tally (lane, delayed) values (f.lane, -1);
    insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state, reason, result, error)
    values (f.job_id, f.created_at, greatest(clock_now(), f.created_at), 1, v_slot, v_state::text::job_outcome, v_state,
            case when v_state = 'failed' then 'permanent'::failure_reason end, v_counts::json,
            case when v_state = 'failed' then json_build_object('message', 'jobs of the flow did not succeed') end);
    perform fingerprint_release(array[f.job_id]), notice_append(array[f.job_id], 1);
  end loop;
  return p_jobs;
end $$;

-- flow_total: how many jobs a flow has.
create or replace function flow_total(p_flow bigint) returns int
language plpgsql as $$
begin
  return (select coalesce(sum(cardinality(s.jobs)), 0) from step s
           where s.slot = job_slot(p_flow) and s.job_id = p_flow and s.key = 'job' and s.kind = 'started');
end $$;

-- flow_ends: the jobs of a flow that it was told of, each once, and how each has ended at first.
create or replace function flow_ends(p_flow bigint) returns table (job_id bigint, about text)
language plpgsql as $$
begin
  return query
  select distinct on (u.id) u.id, s.about
    from step s cross join lateral unnest(coalesce(s.jobs, array[s.n])) u (id)
   where s.slot = job_slot(p_flow) and s.job_id = p_flow and s.key = 'job' and s.kind = 'ended'
   order by u.id, s.id;
end $$;
