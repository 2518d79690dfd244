-- fingerprints_take_over: asked in the cell that a queue moves to: the other one has given these fingerprints up, so
-- jobs may have them here. Locks: fingerprint rows in key order. Writes: fingerprint. Raises: MR003.
create or replace function fingerprints_take_over(p_queue text, p_fingerprints text[]) returns void
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
begin
  perform fingerprints_reserve(array_fill(v_id, array[cardinality(p_fingerprints)]), p_fingerprints);
end $$;

-- arriving_check: refuse jobs for a queue that is just moving here when they have a fingerprint that the other cell was
-- not asked for yet. p_jobs: an array of options as for job_enqueue_many. Raises: MR031.
create or replace function arriving_check(p_queue_id int, p_from text, p_jobs json) returns void
language plpgsql as $$
declare
  v_queue constant text := (select q.name from queue q where q.id = p_queue_id);
  v_names constant text[] := array(
    select distinct o.value ->> 'fingerprint' from json_array_elements(p_jobs) o
     where o.value ->> 'fingerprint' is not null
       and coalesce(o.value ->> 'queue', (select f.queue from job_definition f where f.type = o.value ->> 'type'),
             'default') = v_queue
       and not exists (select from fingerprint f
                        where f.queue_id = p_queue_id and f.fingerprint = o.value ->> 'fingerprint'));
begin
  if v_names <> '{}' then
    perform raise_error('MR031',
      format('queue "%s" is just moving here: its fingerprints may live in the cell "%s"', v_queue, p_from),
      'hand them over first (fingerprints_hand_over, then fingerprints_take_over), or enqueue again later',
      json_build_object('queue', v_queue, 'cell', p_from, 'fingerprints', v_names)::text);
  end if;
end $$;
