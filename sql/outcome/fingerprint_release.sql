-- fingerprint_release: finished jobs no longer stand in the way of their fingerprint; a follow-up becomes due.
-- Never waits: a row or follow-up somebody is deciding on is left to maintain(); until then the next enqueue takes it
-- over by itself.
-- Locks: fingerprint rows and the follow-up's mark, skipped when taken. Writes: fingerprint, agenda.
create or replace function fingerprint_release(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  f fingerprint;
begin
  if not exists (select from fingerprint) then
    return;
  end if;
  for f in
    select * from fingerprint
     where job_id = any (p_jobs)
     order by queue_id, fingerprint for update skip locked
  loop
    if f.follow_up is not null then
      continue when not pg_try_advisory_xact_lock(job_mark(f.follow_up));
      update fingerprint set job_id = f.follow_up, follow_up = null
       where queue_id = f.queue_id and fingerprint = f.fingerprint;
      perform follow_up_release(f.follow_up);
    elsif f.until is null or f.until <= clock_now() then
      delete from fingerprint where queue_id = f.queue_id and fingerprint = f.fingerprint;
    end if;
  end loop;
end $$;

-- follow_up_release: the job it waited for has ended: it may run at its own time, and its expiry counts from then.
create or replace function follow_up_release(p_job_id bigint) returns void
language plpgsql as $$
declare
  j job;
  v_due timestamptz;
begin
  select * into j from job where slot = job_slot(p_job_id) and id = p_job_id;
  select greatest(clock_now(), coalesce(m.run_at, j.run_at)) into v_due
    from (select 1) one
    left join amendment m on m.slot = j.slot and m.job_id = j.id;
  update agenda set due_at = v_due where job_id = p_job_id and due_at = 'infinity';
  if found then
    perform start_by_renew(j, v_due);
  end if;
end $$;

-- start_by_renew: a job had to wait for others before it could run: what it has to start by counts from when it can.
-- Writes: amendment.
create or replace function start_by_renew(j job, p_due timestamptz) returns void
language plpgsql as $$
begin
  if isfinite(j.start_by) then
    insert into amendment (job_id, slot, updated_at) values (j.id, j.slot, clock_now()) on conflict do nothing;
    update amendment set start_by = least(p_due + (j.start_by - greatest(j.run_at, job_created_at(j.id))), time_last()),
           updated_at = clock_now()
     where slot = j.slot and job_id = j.id;
  end if;
end $$;
