-- fingerprint_cells: the cells of jobs that an enqueue has answered with, and that are not here: their ids are
-- negative. As JSON: {"-123": "a"}.
create or replace function fingerprint_cells(p_jobs bigint[]) returns json
language sql stable security definer set search_path from current set jit = off as $$
  select coalesce(json_object_agg(f.job_id, f.cell), '{}') from fingerprint f
   where f.job_id = any (p_jobs) and f.cell is not null
$$;
