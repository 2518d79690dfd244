-- job_steps: what a run has done and was sent, and what it waits for, in the order in which it was noted (p_newest: the
-- other way), of one step only with p_key; after p_after, an id, when paging. For people who look, a part at a time:
-- who works on a job reads all of it at once (steps_get). kind: as in the table "step". n: which try, child or signal.
-- tries: how often a step was tried until then. seconds: how long it took. children: how many were started, or ended,
-- which job_children has. value_bytes: how long its value is; that is left out when it is longer than p_bytes, or
-- there are 8 MiB of values before it.
-- Costs what the steps of this job cost to sort by time. Raises: MR001.
create or replace function job_steps(p_job bigint, p_key text default null, p_after bigint default null,
  p_limit int default 100, p_bytes int default 1048576, p_newest boolean default false)
  returns table (id bigint, key text, kind text, n bigint, at timestamptz, until timestamptz, seconds float8, tries int,
    about text, other bigint, children int, value json, value_bytes int, error json)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_slot constant smallint := job_slot(p_job);
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform raise_error('MR001', format('a list has 1 to 10000 rows, not %s', p_limit), null);
  end if;
  return query
  select s.id, s.key::text, s.kind::text, s.n, s.at, s.until, s.seconds,
         case when s.kind = 'try' then s.failed
              when s.kind = 'done' and s.about is distinct from 'timeout' then s.failed + 1 end,
         s.about, s.other, cardinality(s.jobs),
         case when s.bytes <= p_bytes
                and sum(s.bytes) filter (where s.bytes <= p_bytes) over (order by s.place) <= 8388608 then s.value end,
         s.bytes, s.error
    from (select x.*, octet_length(x.value::text) as bytes,
                 (select count(*)::int from step t
                   where t.slot = v_slot and t.job_id = p_job and t.key = x.key and t.kind = 'try'
                     and t.id <= x.id) as failed
            from (select y.*, case when p_newest then -y.id else y.id end as place from step y
                   where y.slot = v_slot and y.job_id = p_job
                     and not (y.key = 'after' and y.kind = 'ended' and y.jobs is not null)  -- what jobs of a flow know
                     and (p_key is null or y.key = p_key)
                     and (p_after is null or case when p_newest then y.id < p_after else y.id > p_after end)
                   order by place limit p_limit) x) s
   order by s.place;
end $$;
