-- waits_check: refuse to let a queue wait for itself, in one step or more, or for one that does not exist. The caller
-- has queue_links. Raises: MR001, MR003.
create or replace function waits_check(p_queue text, p_waits_for jsonb) returns void
language plpgsql as $$
declare
  v_through text;
begin
  if p_waits_for ? p_queue then
    perform raise_error('MR001', format('queue "%s" cannot wait for itself', p_queue), 'take it out of waitsFor');
  end if;
  perform spread_refuse(queue_id(name), 'no cell knows when all of it has finished')
     from jsonb_array_elements_text(p_waits_for) name;
  with recursive w as (
    select n as first, n as name from jsonb_array_elements_text(p_waits_for) n
    union
    select w.first, n from w join queue q on q.name = w.name
      cross join lateral jsonb_array_elements_text(q.options -> 'waitsFor') n)
  select w.first into v_through from w where w.name = p_queue limit 1;
  if found then
    perform raise_error('MR001',
      format('queue "%s" would wait for itself: "%s" already waits for it, directly or through others', p_queue,
      v_through),
      format('take one of the two out of the other''s waitsFor, for example with '
        || 'queue_put(''%s'', ''{"waitsFor": []}'')', v_through));
  end if;
end $$;
