-- job_children: the jobs that a job has started, in the order of their ids, after p_after when paging. step: of which
-- step; detached: it goes on when its parent ends without success. queue, type, state and times are null of one that is
-- not there any more. Each is looked at by itself (README.md, "Views that must not be joined"). Raises: MR001.
create or replace function job_children(p_job bigint, p_after bigint default null, p_limit int default 100)
  returns table (id bigint, step text, queue text, type text, state text, created_at timestamptz,
    finished_at timestamptz, detached boolean)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform raise_error('MR001', format('a list of children has 1 to 1000 rows, not %s', p_limit), null);
  end if;
  return query
  select c.id, c.key::text, v.queue, v.type, v.state, v.created_at, v.finished_at, c.detached
    from (select u.id, s.key, s.about is not distinct from 'detached' as detached
            from step s cross join lateral unnest(s.jobs) u (id)
           where s.slot = job_slot(p_job) and s.job_id = p_job and s.kind = 'started'
             and (p_after is null or u.id > p_after)
           order by u.id limit p_limit) c
    left join lateral (select j.queue, j.type, j.state, j.created_at, j.finished_at
                         from jobs j where j.id = c.id limit 1) v on true
   order by c.id;
end $$;
