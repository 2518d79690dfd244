-- steps_put: append what runs have done. p_runs: [{"token", "job", "steps": [{"key", "kind", "n", "value", "error",
-- "ms", "about", "seconds"}]}], of many jobs together. Returns the ids of jobs that their token no longer holds, of
-- which nothing was written. What was written before is left as it is, so that the same may be sent twice. The fence is
-- a lock on the claim's row that others may share, and that keeps everybody from taking jobs out of it. So a checkpoint
-- and the loss of a lease follow each other.
-- The library counts what its runs write. For those who do not, a look at one run in a thousand calls bounds it, at a
-- price that nobody feels: to count each time would read all of the run for each of its steps.
-- Locks: claim rows, shared. Writes: step. Raises: MR001, MR004, MR007, MR019.
create or replace function steps_put(p_runs json) returns bigint[]
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_runs run_steps[];
  v_held bigint[];
  r run_steps;
begin
  begin
    v_runs := array(select x from json_populate_recordset(null::run_steps, p_runs) x);
  exception when data_exception or program_limit_exceeded or statement_too_complex then
    perform raise_error('MR001', format('steps: %s', left(sqlerrm, 300)), 'give objects with a token, a job and steps');
  end;
  foreach r in array v_runs loop
    perform steps_check(r.steps);
  end loop;
  v_held := runs_fence(v_runs);
  perform steps_append(array(select x from unnest(v_runs) x where x.job = any (v_held)));
  if random() < 0.001 then
    perform run_room_check(v_held[1 + floor(random() * cardinality(v_held))::int]);
  end if;
  return array(select distinct x.job from unnest(v_runs) x where x.job <> all (v_held));
end $$;

-- runs_fence: which of these jobs their tokens hold, and nobody takes from them until the end of this transaction.
-- Locks: claim rows in token order, shared.
create or replace function runs_fence(p_runs run_steps[]) returns bigint[]
language plpgsql as $$
declare
  c record;
  v_held bigint[];
begin
  perform claims_check();
  for v_look in 1 .. 2 loop  -- a job whose visibility was changed while this waited for its row is in another one now
    v_held := '{}';
    for c in
      select k.token, k.jobs from claim k
       where k.token = any (array(select x.token from unnest(p_runs) x))
       order by k.token, k.part for key share
    loop
      v_held := v_held || array(select x.job from unnest(p_runs) x where x.token = c.token and x.job = any (c.jobs));
    end loop;
    exit when not exists (select from unnest(p_runs) x where x.job <> all (v_held));
  end loop;
  return v_held;
end $$;

-- run_room_check: refuse that a run writes more when it has written twice what it may. Not less: the ends of what has
-- begun, and what is undone, are written by the library however much there is. Raises: MR019.
create or replace function run_room_check(p_job bigint) returns void
language plpgsql as $$
declare
  v_slot constant smallint := job_slot(p_job);
  v_void constant int8multirange := steps_void(p_job);
  v_steps bigint;
  v_bytes bigint;
begin
  select count(*), sum(octet_length(s.value::text)) into v_steps, v_bytes from step s
   where s.slot = v_slot and s.job_id = p_job and s.kind not in ('signal', 'ended')
     and (v_void is null or not s.id <@ v_void);
  if v_steps > 2 * bound('runSteps') or v_bytes > 2 * bound('runBytes') then
    perform raise_error('MR019', format('the run of job %s has written %s steps and %s bytes of values; the limits are '
      '%s and %s', p_job, v_steps, v_bytes, bound('runSteps'), bound('runBytes')),
      'let the job end, and start another one; store large values in tables of your own');
  end if;
end $$;

-- steps_check: steps as they may be sent. Raises: MR001, MR004.
create or replace function steps_check(p_steps json) returns void
language plpgsql as $$
declare
  v_bad text;
begin
  if p_steps is null or json_typeof(p_steps) <> 'array' then
    perform raise_error('MR001', 'steps are not a list', 'give a JSON array');
  end if;
  begin
    select case
        when x.key is null or x.key = '' or length(x.key) > 2 * bound('nameLength') then 'a step needs a name'
        when x.kind is null or x.kind <> all ('{done,try,due,got}'::text[]) then format('unknown kind "%s"', x.kind)
        when not x.ms between 0 and 1000 * bound('seconds') or not x.seconds between 0 and bound('seconds')
          or not x.until between time_first() and time_last() then 'a time that is not possible' end
      into v_bad
      from json_populate_recordset(null::step_line, p_steps) x
     order by 1 limit 1;
  exception when data_exception or program_limit_exceeded or statement_too_complex then
    v_bad := left(sqlerrm, 300);
  end;
  if v_bad is not null then
    perform raise_error('MR001', format('steps: %s', v_bad),
      'give objects with "key" and "kind" (done, try, due or got)');
  end if;
  if octet_length(p_steps::text) > 2 * bound('jsonDepth') or strpos(p_steps::text, '\u') > 0 then
    perform json_check('value of a step', e -> 'value', bound('stepBytes')) from json_array_elements(p_steps) e;
  end if;
end $$;

-- steps_append: append steps of runs whose fence the caller has, but those that are there already. That is left to the
-- key: a look beforehand was planned for many of them, and walked through all steps of the day for one. Writes: step.
create or replace function steps_append(p_runs run_steps[]) returns void
language plpgsql as $$
declare
  v_slot smallint;
  v_runs run_steps[];
begin
  for v_slot, v_runs in
    select job_slot(x.job), array_agg(x) from unnest(p_runs) x group by 1
  loop
    perform days_check(v_slot), steps_append_to(v_slot, v_runs);
  end loop;
end $$;

-- steps_append_00 to steps_append_31, steps_append_to: the same in one ring child. One function per child, because a
-- plan that knows one child only is made and run much faster (job_lines).
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function steps_append_%1$s(p_runs run_steps[]) returns void
      language plpgsql as $body$
      declare
        v_now constant timestamptz := clock_now();
      begin
        insert into step_%1$s (job_id, slot, key, kind, n, at, until, seconds, about, value, error)
        select r.job, %2$s, x.key, x.kind::step_kind, coalesce(x.n, 0), v_now,
               coalesce(x.until, v_now + seconds(x.seconds)), x.ms / 1000, x.about, e.value -> 'value',
               error_storable(x.error)
          from unnest(p_runs) with ordinality r (token, job, steps, i)
          cross join lateral json_array_elements(r.steps) with ordinality e (value, i)
          cross join lateral json_populate_record(null::step_line, e.value) x
         order by r.i, e.i
        on conflict do nothing;
      end $body$ $function$, lpad(i::text, 2, '0'), i);
  end loop;
  execute 'create or replace function steps_append_to(p_slot smallint, p_runs run_steps[]) returns void '
    || 'language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then perform steps_append_%s(p_runs);', i, lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;

-- run_is_undoing: whether a run has failed for good, and undoes its steps.
create or replace function run_is_undoing(p_slot smallint, p_job bigint) returns boolean
language plpgsql stable as $$
begin
  return exists (select from step s
                  where s.slot = p_slot and s.job_id = p_job and step_name(s.key) = '#failing' and s.kind = 'done'
                    and not coalesce(s.id <@ steps_void(p_job), false));
end $$;
