-- fingerprints_tidy: release fingerprints whose time has passed since their job ended, and follow-ups that were left
-- behind; p_most at a time. A fingerprint whose time has passed while its job waits is looked at only once: the end of
-- the job releases it. If nobody did (the job was purged, or somebody had the row), it stands in nobody's way and is
-- found by chance: two are looked at, and their neighbours when one of the two is over.
-- Locks: fingerprint rows and follow-ups, skipped when taken. Writes: fingerprint, agenda.
create or replace function fingerprints_tidy(p_most int) returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_over bigint[];
  -- jobs of other cells have negative ids: their time is all that counts
  v_from constant bigint := (select min(job_id) + ((max(job_id) - min(job_id)) * random())::bigint
                               from fingerprint where job_id >= 0);
  v_some bigint[] := array(
    select job_id from fingerprint where job_id >= greatest(v_from, 0) order by job_id limit 100);
begin
  with due as materialized (
    select f.queue_id, f.fingerprint, f.job_id, job_over(f.job_id) as is_over
      from fingerprint f
     where f.until > '-infinity' and f.until <= clock_now()
     order by f.until limit p_most for update skip locked
  ), seen as (
    update fingerprint f set until = '-infinity'
      from due d
     where f.queue_id = d.queue_id and f.fingerprint = d.fingerprint and not d.is_over
  )
  select array_agg(job_id) into v_over from due where is_over;
  if not exists (select from unnest(v_some[1:2]) id where job_over(id)) then
    v_some := '{}';
  end if;
  perform fingerprint_release(
    v_over
    || array(select f.job_id from fingerprint f where f.follow_up is not null and job_over(f.job_id) limit p_most)
    || array(select id from unnest(v_some) id where job_over(id)));
end $$;
