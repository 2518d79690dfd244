-- sqs_queue_change: set attributes and tags (null removes one), and the options that follow from them. False when there
-- is no such queue. Writes: sqs_queue, queue. Raises: MR001, MR003.
create or replace function sqs_queue_change(p_name text, p_attributes jsonb default '{}', p_tags jsonb default '{}',
  p_options jsonb default '{}') returns boolean
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_queue text;
begin
  perform sqs_target_check(p_attributes);
  update sqs_queue s set attributes = jsonb_strip_nulls(s.attributes || p_attributes),
         tags = jsonb_strip_nulls(s.tags || p_tags),
         changed_at = case when p_attributes <> '{}' then clock_now() else s.changed_at end
    from queue q where s.name = p_name and s.deleted_at is null and q.id = s.queue_id returning q.name into v_queue;
  if not found then
    return false;
  end if;
  if p_options <> '{}' then
    perform queue_put(v_queue, p_options);
  end if;
  return true;
end $$;
