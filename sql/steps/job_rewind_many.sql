-- job_rewind_many: let runs go back to a step, those of the given jobs that have done it and can: one that runs, has
-- succeeded or was cancelled, or has no such step, is left alone. Returns how many, and their queues, whose workers may
-- be woken. p_dry_run: only counts them.
-- Locks, writes: as job_rewind, for each. Raises: MR001, MR002.
create or replace function job_rewind_many(p_jobs bigint[], p_to text, p_by text default null,
  p_because text default null, p_dry_run boolean default false, out rewound int, out queues text[])
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_id bigint;
  v_queue text;
begin
  perform job_must_exist(p_jobs);
  perform name_check('by', p_by), name_check('because', p_because, 2000);
  rewound := 0;
  queues := '{}';
  for v_id in select distinct id from unnest(p_jobs) id order by id loop
    continue when step_first(v_id, p_to) is null or job_state(v_id) in ('running', 'succeeded', 'cancelled');
    if not p_dry_run then
      begin
        v_queue := job_rewind(v_id, p_to, p_by, p_because);
      exception when sqlstate 'MR001' or sqlstate 'MR017' then
        continue;  -- it has changed meanwhile, was discarded, or is a flow
      end;
      if v_queue <> all (queues) then
        queues := queues || v_queue;
      end if;
    end if;
    rewound := rewound + 1;
  end loop;
end $$;
