-- fingerprints_hand_over: asked in the cell that a queue has left, before it is enqueued with these fingerprints in the
-- new one. Returns those that live here still; the others are given up here for good: a transaction that has not seen
-- the move finds the row, and is sent to the new cell like all others.
-- Locks: fingerprint rows in key order. Writes: fingerprint. Raises: MR003, MR032.
create or replace function fingerprints_hand_over(p_queue text, p_fingerprints text[]) returns text[]
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
  v_name text;
  v_lives text[] := '{}';
begin
  perform isolation_check('handing fingerprints over');
  if not exists (select from queue_move m where m.queue_id = v_id and m.is_leaving) then
    perform move_refuse('moving', format('queue "%s" has not moved', p_queue), 'enqueue here');
  end if;
  for v_name in select distinct u.name from unnest(p_fingerprints) u (name) where u.name is not null order by 1 loop
    if not fingerprint_give_up(v_id, v_name) then
      v_lives := v_lives || v_name;
    end if;
  end loop;
  return v_lives;
end $$;

-- fingerprint_give_up: whether a fingerprint of a queue that has left does not live here any more, and will not again.
-- Job -1 stands for the other cell. Locks: the fingerprint's row. Writes: fingerprint.
create or replace function fingerprint_give_up(p_queue_id int, p_name text) returns boolean
language plpgsql as $$
declare
  f fingerprint;
begin
  loop
    -- waits for those who enqueue with it, and have not committed
    insert into fingerprint (queue_id, fingerprint, job_id) values (p_queue_id, p_name, -1) on conflict do nothing;
    if found then
      return true;
    end if;
    select * into f from fingerprint where queue_id = p_queue_id and fingerprint = p_name for update;
    exit when found;
  end loop;
  if f.until > clock_now() or f.job_id > 0 and (not job_over(f.job_id)
       or f.follow_up is not null and not job_over(f.follow_up)) then
    return false;
  end if;
  update fingerprint set job_id = -1, follow_up = null, until = null, cell = null
   where queue_id = p_queue_id and fingerprint = p_name;
  return true;
end $$;
