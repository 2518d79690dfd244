-- fingerprints_left: the fingerprints that a queue has left behind whose time has not passed yet (fingerprintSeconds),
-- as JSON for fingerprints_bring. To be asked when the queue has drained. Raises: MR003.
create or replace function fingerprints_left(p_queue text) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  return (select coalesce(json_agg(json_build_object('fingerprint', f.fingerprint, 'job', abs(f.job_id)::text,
            'cell', f.cell, 'seconds', date_part('epoch', f.until - clock_now()))), '[]')
            from fingerprint f where f.queue_id = v_id and f.until > clock_now());
end $$;
