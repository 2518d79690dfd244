-- job_tell: send a signal to a job. It is kept until the job waits for it. With p_id it counts once, however often it
-- is sent. Commits with the caller's transaction, and takes no lock: whoever delivers it does so later
-- (notices_deliver). Returns whether it is new. Writes: step, ticket. Raises: MR001, MR002, MR004, MR017 when the job
-- has ended, MR019 when it was sent too many.
create or replace function job_tell(p_job bigint, p_name text, p_value json default null, p_id text default null)
  returns boolean
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_state text;
begin
  perform name_check('name of a signal', coalesce(nullif(p_name, ''),
    raise_error('MR001', 'a signal needs a name', 'give the name that the job waits for')));
  perform name_check('id of a signal', p_id, 500);
  perform json_check('value of a signal', p_value, bound('stepBytes'));
  v_state := job_deaf(p_job);
  if v_state is not null then
    perform raise_error('MR017', format('job %s has ended as %s', p_job, v_state),
      'a job that has ended hears nothing any more', json_build_object('state', v_state)::text);
  end if;
  if not signal_append(job_slot(p_job), p_job, p_name, p_value, p_id) then
    return false;
  end if;
  perform notice_append(array[p_job], 2);
  return true;
end $$;

-- job_deaf: how a job has ended, which hears nothing any more; null while it may. Raises: MR002.
create or replace function job_deaf(p_job bigint) returns text
language plpgsql as $$
declare
  v_state text;
begin
  if exists (select from agenda g where g.job_id = p_job and g.waits is not null and g.due_at > clock_now()
               and not exists (select from lane_purge p where p.lane = g.lane)) then
    return null;  -- it is suspended
  end if;
  perform job_must_exist(array[p_job]);
  v_state := job_state(p_job);
  return case when state_is_final(v_state) then v_state end;
end $$;

-- signal_append_00 to signal_append_31, signal_append: append a signal, unless one with the same id is there. Returns
-- whether it is new. One function per ring child, as for steps (steps_append_to). Writes: step. Raises: MR019.
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function signal_append_%1$s(p_job bigint, p_name text, p_value json, p_id text) returns boolean
      language plpgsql as $body$
      declare
        v_sent bigint;
        v_got bigint;
      begin
        if p_id is not null and exists (
          select from step_%1$s s
           where s.job_id = p_job and s.key = p_name and s.kind = 'signal' and s.about = p_id) then
          return false;
        end if;
        select count(*) filter (where s.kind = 'signal'), count(*) filter (where s.kind = 'got') into v_sent, v_got
          from step_%1$s s where s.job_id = p_job and s.key = p_name and s.kind in ('signal', 'got');
        if v_sent - v_got >= bound('signals') then
          perform raise_error('MR019',
            format('job %%s has %%s signals "%%s" that it has not waited for yet', p_job, v_sent - v_got, p_name),
            'wait until it has taken some, or start a job for each');
        elsif v_sent >= bound('signalsEver') then
          perform raise_error('MR019', format('job %%s was sent %%s signals "%%s"', p_job, v_sent, p_name),
            'let the job end, and start another one');
        end if;
        insert into step_%1$s (job_id, slot, key, kind, n, at, about, value)
        values (p_job, %2$s, p_name, 'signal', nextval('step_id_seq'), clock_now(), p_id, p_value);
        return true;
      end $body$ $function$, lpad(i::text, 2, '0'), i);
  end loop;
  execute 'create or replace function signal_append(p_slot smallint, p_job bigint, p_name text, p_value json, '
    || 'p_id text) returns boolean language plpgsql as $body$ begin case p_slot '
    || (select string_agg(format('when %s then return signal_append_%s(p_job, p_name, p_value, p_id);', i,
                                 lpad(i::text, 2, '0')), ' ')
          from generate_series(0, 31) i)
    || ' end case; end $body$';
end $do$;
