-- job_rewind: let a run go back to a step: what it has done from then on is void, and done again. Only a mark is
-- appended. Children that those steps have started, and that have not ended, are cancelled. Signals that were got stay
-- got. A job that has failed or expired gets one more attempt. Returns its queue, whose workers may be woken.
-- Locks: as job_hold, or as job_retry. Writes: step, agenda, and as job_cancel and job_retry. Raises: MR001
-- while the job runs, for a flow, when there is no such step, or when one before it was undone; MR002; MR017 when it
-- has succeeded or was cancelled.
create or replace function job_rewind(p_job bigint, p_to text, p_by text default null, p_because text default null)
  returns text
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_slot constant smallint := job_slot(p_job);
  v_state text;
  v_from bigint;
  v_undone text;
begin
  perform job_must_exist(array[p_job]);
  perform name_check('by', p_by), name_check('because', p_because, 2000);
  if exists (select from job where slot = v_slot and id = p_job and type = flow_type()) then
    perform raise_error('MR001', format('job %s is a flow, which has no steps', p_job), 'rewind one of its jobs');
  end if;
  v_from := step_first(p_job, p_to);
  if v_from is null then
    perform raise_error('MR001', format('job %s has done no step "%s"', p_job, left(p_to, 200)),
      'give the name of a step that it has done, with its number where it is used again, such as poll#2');
  end if;
  v_undone := step_undone(p_job, v_from);
  if v_undone is not null then
    perform raise_error('MR001', format('step "%s" was undone, and comes before "%s"', v_undone, left(p_to, 200)),
      format('rewind to "%s", so that it is done again', v_undone));
  end if;
  v_state := job_state(p_job);
  if v_state in ('failed', 'expired') then
    if job_retry(1, array[p_job], p_by => p_by, p_because => p_because) = 0 then
      perform raise_error('MR001', format('job %s cannot be given another attempt', p_job),
        'it was discarded, or another job has its fingerprint');
    end if;
  else
    perform job_hold(array[p_job]);
    v_state := job_state(p_job);
    if v_state = 'running' then
      perform raise_error('MR001', format('job %s is running', p_job), 'wait until it has ended or waits itself');
    elsif state_is_final(v_state) then
      perform raise_error('MR017', format('job %s has ended as %s', p_job, v_state), 'enqueue another one',
        json_build_object('state', v_state)::text);
    end if;
  end if;
  perform job_cancel(c.jobs, 'the job that started it was rewound')
     from (select array_agg(u.id) as jobs
             from step s cross join lateral unnest(s.jobs) u (id)
            where s.slot = v_slot and s.job_id = p_job and s.kind = 'started' and s.id >= v_from
              and s.about is distinct from 'detached' and not job_over(u.id)) c
    where c.jobs is not null;
  insert into step (job_id, slot, key, kind, n, id, at, other, about, value)
  select p_job, v_slot, '#rewind', 'rewind', x.id, x.id, clock_now(), v_from, p_to,
         json_strip_nulls(json_build_object('by', p_by, 'because', p_because))
    from (select nextval('step_id_seq') as id) x;
  update agenda set due_at = clock_now(), waits = null
   where job_id = p_job and stage is null and (chain = 1) is not true;
  return (select q.name from job j join queue q on q.id = j.queue_id where j.slot = v_slot and j.id = p_job);
end $$;

-- step_first: the first thing that a run remembers of a step, and that no rewind has made void; null when there is
-- none.
create or replace function step_first(p_job bigint, p_to text) returns bigint
language plpgsql stable as $$
declare
  v_void constant int8multirange := steps_void(p_job);
begin
  return (
    select min(s.id) from step s
     where s.slot = job_slot(p_job) and s.job_id = p_job and step_name(s.key) = p_to
       and s.kind in ('done', 'try', 'due', 'started') and (v_void is null or not s.id <@ v_void));
end $$;

-- step_undone: of the steps before p_before, the first that was undone, well or not; null when there is none. What such
-- a step gave would be taken for done.
create or replace function step_undone(p_job bigint, p_before bigint) returns text
language plpgsql stable as $$
declare
  v_slot constant smallint := job_slot(p_job);
  v_void constant int8multirange := coalesce(steps_void(p_job), '{}');
begin
  return (
    select step_name(s.key) from step u
      join step s on s.slot = v_slot and s.job_id = p_job and s.kind = 'done' and s.id < p_before
       and step_name(s.key) = step_name(substr(u.key, length('#undo ') + 1))
     where u.slot = v_slot and u.job_id = p_job and u.kind = 'done' and starts_with(u.key, '#undo ')
       and not u.id <@ v_void and not s.id <@ v_void
     order by s.id limit 1);
end $$;

-- step_name: the step of a key, as its handler counts: without the number of rewinds before it.
create or replace function step_name(p_key text) returns text
language sql immutable parallel safe as $$
  select case when strpos(p_key, '#') > 0 then regexp_replace(regexp_replace(p_key, '~[0-9]+$', ''), '#1$', '')
              else p_key end
$$;

-- steps_void: which ids of steps rewinds have made void; null for none.
create or replace function steps_void(p_job bigint) returns int8multirange
language plpgsql stable as $$
begin
  return (select range_agg(int8range(r.other, r.n)) from step r
           where r.slot = job_slot(p_job) and r.job_id = p_job and r.key = '#rewind' and r.kind = 'rewind');
end $$;
