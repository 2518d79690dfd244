-- claim_detach: take jobs out of the claim that a token names (null: all of them). Only jobs that the claim still holds
-- are returned, one row per part, with jobs and attempts cut down to them. Nobody but the caller who gets a job decides
-- its outcome.
-- Locks: the claim's rows, so that two reports on one claim follow each other. Writes: claim, ticket. Raises: MR002,
-- MR005 for a token without jobs when no ids were given, MR007 when the snapshot is older than the table
-- (snapshot_check).
create or replace function claim_detach(p_token uuid, p_jobs bigint[]) returns setof claim
language plpgsql as $$
declare
  c claim;
  v_all bigint[] := '{}';
  v_found int := 0;
  v_rest bigint[];
  v_rest_attempts int[];
begin
  perform claims_check();
  for v_look in 1 .. 2 loop  -- a job whose visibility was changed while this waited for its row is in another one now
    for c in select * from claim where token = p_token order by part for update loop
      c.attempts := coalesce(c.attempts, array_fill(1, array[cardinality(c.jobs)]));
      v_all := v_all || c.jobs;
      if p_jobs is null or p_jobs = c.jobs then
        delete from claim where token = p_token and part = c.part;
      else
        select array_agg(u.id) filter (where u.named), array_agg(u.attempt) filter (where u.named),
               array_agg(u.id) filter (where not u.named), array_agg(u.attempt) filter (where not u.named)
          into c.jobs, c.attempts, v_rest, v_rest_attempts
          from (select id, attempt, id in (select unnest(p_jobs)) as named
                  from unnest(c.jobs, c.attempts) h (id, attempt)) u;
        continue when c.jobs is null;
        if v_rest is null then
          delete from claim where token = p_token and part = c.part;
        else
          update claim set jobs = v_rest, attempts = v_rest_attempts where token = p_token and part = c.part;
        end if;
      end if;
      perform claim_announce(c);
      v_found := v_found + cardinality(c.jobs);
      return next c;
    end loop;
    exit when case when p_jobs is null then v_all <> '{}' else v_found = cardinality(p_jobs) end;
  end loop;
  if p_jobs is null and v_all = '{}' then
    perform raise_error('MR005', 'the lease is lost: this token holds no jobs',
      'stop working on them: they were finished, cancelled or given to another worker');
  elsif p_jobs is not null and p_jobs <> v_all then
    perform job_must_exist(array(select id from unnest(p_jobs) id where id not in (select unnest(v_all))));
  end if;
end $$;

-- job_must_exist: raise MR002 when one of the ids names no job. It is volatile because a statement that waited for the
-- rotation of a job's day must not look with its old snapshot, to which the day is empty. In REPEATABLE READ it has no
-- other snapshot, and is refused.
-- Raises: MR002, MR007.
create or replace function job_must_exist(p_jobs bigint[]) returns void
language plpgsql as $$
declare
  v_id bigint;
begin
  foreach v_id in array p_jobs loop
    if not exists (select from job where slot = job_slot(v_id) and id = v_id) then
      perform days_check(job_slot(v_id));
      perform raise_error('MR002', format('there is no job %s', coalesce(v_id::text, 'null')),
        'it may have been removed after its retention');
    end if;
  end loop;
end $$;

-- claim_announce: jobs of a claim end. Where that makes room for others of their group, the group gets in line again.
-- Writes: ticket.
create or replace function claim_announce(c claim) returns void
language plpgsql as $$
begin
  if c.track is not null then
    perform group_announce(l.queue_id, hash_of(c.track, c.lane)) from lane l where l.key = c.lane;
  end if;
end $$;
