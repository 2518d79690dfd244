-- fingerprint_release: finished jobs no longer stand in the way of their fingerprint; a follow-up becomes due.
-- Never waits: a row or follow-up somebody is deciding on is left to maintain(); until then the next enqueue takes it over by itself.
-- Locks: fingerprint rows and the follow-up's mark, skipped when taken. Writes: fingerprint, agenda.
create or replace function fingerprint_release(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  f fingerprint;
begin
  if not exists (select from fingerprint) then
    return;
  end if;
  for f in select * from fingerprint where job_id = any (p_jobs) order by queue_id, fingerprint for update skip locked loop
    if f.follow_up is not null then
      continue when not pg_try_advisory_xact_lock(job_mark(f.follow_up));
      update fingerprint set job_id = f.follow_up, follow_up = null where queue_id = f.queue_id and fingerprint = f.fingerprint;
      perform follow_up_release(f.follow_up);
    elsif f.until is null or f.until <= clock_now() then
      delete from fingerprint where queue_id = f.queue_id and fingerprint = f.fingerprint;
    end if;
  end loop;
end $$;

-- fingerprints_tidy: release those whose time has passed since their job ended, and follow-ups that were left behind; p_most at a time. One whose time has passed while its job waits is looked at once: the end of
-- the job releases it. What nobody released then (the job was purged, or somebody had the row) stands in nobody's way, and is found by chance: a look at two, and at their neighbours where one of them is over.
-- Locks: fingerprint rows and follow-ups, skipped when taken. Writes: fingerprint, agenda.
create or replace function fingerprints_tidy(p_most int) returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_over bigint[];
  v_from constant bigint := (select min(job_id) + ((max(job_id) - min(job_id)) * random())::bigint from fingerprint);
  v_some bigint[] := array(select job_id from fingerprint where job_id >= v_from order by job_id limit 100);
begin
  with due as materialized (
    select f.queue_id, f.fingerprint, f.job_id, job_over(f.job_id) as is_over from fingerprint f where f.until > '-infinity' and f.until <= clock_now() order by f.until limit p_most for update skip locked
  ), seen as (
    update fingerprint f set until = '-infinity' from due d where f.queue_id = d.queue_id and f.fingerprint = d.fingerprint and not d.is_over
  )
  select array_agg(job_id) into v_over from due where is_over;
  if not exists (select from unnest(v_some[1:2]) id where job_over(id)) then
    v_some := '{}';
  end if;
  perform fingerprint_release(v_over || array(select f.job_id from fingerprint f where f.follow_up is not null and job_over(f.job_id) limit p_most)
    || array(select id from unnest(v_some) id where job_over(id)));
end $$;

-- follow_up_release: the job it waited for has ended: it may run at its own time, and its expiry counts from then.
create or replace function follow_up_release(p_job_id bigint) returns void
language plpgsql as $$
declare
  j job;
  v_due timestamptz;
begin
  select * into j from job where slot = job_slot(p_job_id) and id = p_job_id;
  select greatest(clock_now(), coalesce(m.run_at, j.run_at)) into v_due from (select 1) one left join amendment m on m.slot = j.slot and m.job_id = j.id;
  update agenda set due_at = v_due where job_id = p_job_id and due_at = 'infinity';
  if found and isfinite(j.start_by) then
    insert into amendment (job_id, slot, updated_at) values (j.id, j.slot, clock_now()) on conflict do nothing;
    update amendment set start_by = least(v_due + (j.start_by - greatest(j.run_at, job_created_at(j.id))), time_last()), updated_at = clock_now() where slot = j.slot and job_id = j.id;
  end if;
end $$;
