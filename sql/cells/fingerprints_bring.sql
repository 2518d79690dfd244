-- fingerprints_bring: refuse duplicates here, too, of jobs that have ended in the cell that a queue came from, for as
-- long as they asked for (fingerprints_left). They name the cell of their job, so that whoever enqueues a duplicate is
-- told of that one (fingerprint_cells). Writes: fingerprint. Raises: MR003.
create or replace function fingerprints_bring(p_queue text, p_left jsonb) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  insert into fingerprint (queue_id, fingerprint, job_id, until, cell)
  select v_id, x.fingerprint, -x.job::bigint, clock_now() + seconds(x.seconds), coalesce(x.cell, m.cell)
    from jsonb_to_recordset(p_left) x (fingerprint text, job text, cell text, seconds float8)
    join queue_move m on m.queue_id = v_id and not m.is_leaving
   order by x.fingerprint
  on conflict do nothing;
end $$;
