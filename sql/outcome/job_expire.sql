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
  v_known bigint[];
begin
  with closed as (
    insert into amendment (job_id, slot, version, closed_at, closed_as, note, updated_at)
    select id, p_slot, 1, greatest(v_now, job_created_at(id)), p_as, p_note, greatest(v_now, job_created_at(id))
      from unnest(p_jobs) id
    on conflict do nothing returning job_id)
  select coalesce(array_agg(job_id), '{}') into v_new from closed;
  -- what waits behind them in an ordered group may go on
  perform group_announce(j.queue_id, group_track(0, j.group_key))
    from job j
    join queue q on q.id = j.queue_id
   where j.slot = p_slot
     and j.id = any (p_jobs)
     and j.group_key is not null
     and coalesce(q.options -> 'ordered', 'false') <> 'false';
  if cardinality(v_new) = cardinality(p_jobs) then
    perform ends_tell(p_slot, v_new);
    return v_new;
  end if;
  with closed as (
    update amendment set version = version + 1, closed_at = v_now, closed_as = p_as, note = p_note, updated_at = v_now
     where slot = p_slot and job_id = any (p_jobs) and job_id <> all (v_new) and closed_at is null returning job_id)
  select coalesce(array_agg(job_id), '{}') into v_known from closed;
  perform ends_tell(p_slot, v_new || v_known);
  return v_new || v_known;
end $$;

-- ends_tell: jobs of one ring child that nobody worked on have ended; those that have a parent, or children, and flows
-- are told of. Writes: ticket.
create or replace function ends_tell(p_slot smallint, p_jobs bigint[]) returns void
language plpgsql as $$
begin
  perform notice_append(array(
    select j.id from job j left join amendment m on m.slot = p_slot and m.job_id = j.id
     where j.slot = p_slot and j.id = any (p_jobs) and (j.parent is not null or m.linked or j.type = flow_type())), 1);
end $$;
