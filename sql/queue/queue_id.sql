-- queue_id: the number of a queue. Raises: MR003.
create or replace function queue_id(p_name text) returns int
language plpgsql stable as $$
declare
  v_id int;
begin
  select id into v_id from queue where name = p_name;
  if not found then
    perform raise_error('MR003', format('there is no queue "%s"', p_name), 'create it with queue_put(name)');
  end if;
  return v_id;
end $$;
