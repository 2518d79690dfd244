-- job_expire: close waiting jobs of one ring child whose time to start has passed. Returns how many were still open.
-- Writes: amendment, fingerprint.
create or replace function job_expire(p_slot smallint, p_jobs bigint[]) returns int
language plpgsql as $$
declare
  v_closed bigint[] := job_close_waiting(p_slot, p_jobs, 'expired', null);
begin
  perform fingerprint_release(v_closed);
  return cardinality(v_closed);
end $$;

-- job_close_waiting: end jobs that wait, as cancelled or expired. Their tickets become void (a higher version). The
-- caller holds the jobs (job_hold), or their lanes, or has just taken them out of a claim, so nobody else can decide on
-- them. Who waits for their end is told. Returns the ids that were still open. Writes: amendment, ticket.
create or replace function job_close_waiting(p_slot smallint, p_jobs bigint[], p_as job_final_state, p_note json)
  returns bigint[]
language plpgsql as $$
declare
  v_now timestamptz := clock_now();
  v_new bigint[];
  v_known bigint[] := '{}';
  v_linked bigint[] := '{}';
  j record;
begin
  with closed as (
    insert into amendment (job_id, slot, version, closed_at, closed_as, note, updated_at)
    select id, p_slot, 1, greatest(v_now, job_created_at(id)), p_as, p_note, greatest(v_now, job_created_at(id))
      from unnest(p_jobs) id
    on conflict do nothing returning job_id)
  select coalesce(array_agg(job_id), '{}') into v_new from closed;
  if cardinality(v_new) < cardinality(p_jobs) then
    with closed as (
      update amendment set version = version + 1, closed_at = v_now, closed_as = p_as, note = p_note, updated_at = v_now
       where slot = p_slot and job_id = any (p_jobs) and job_id <> all (v_new) and closed_at is null
      returning job_id, linked)
    select coalesce(array_agg(job_id), '{}'), coalesce(array_agg(job_id) filter (where linked), '{}')
      into v_known, v_linked from closed;
  end if;
  for j in
    select d.id, d.queue_id, d.group_key, o.is_ordered, l.is_linked
      from job d
      join queue q on q.id = d.queue_id
      cross join lateral (
        select d.group_key is not null and coalesce(q.options -> 'ordered', 'false') <> 'false' as is_ordered) o
      cross join lateral (select d.parent is not null or d.type = flow_type() as is_linked) l
     where d.slot = p_slot and d.id = any (p_jobs) and (o.is_ordered or l.is_linked)
  loop
    if j.is_ordered then  -- what waits behind it may go on
      perform group_announce(j.queue_id, group_track(0, j.group_key));
    end if;
    if j.is_linked and j.id = any (v_new || v_known) then
      v_linked := v_linked || j.id;
    end if;
  end loop;
  perform notice_append(v_linked, 1);
  return v_new || v_known;
end $$;
