-- limits_settle: refuse an order or a limit for a queue that moves here without one: its jobs in both cells are handed
-- out just now, and each cell would count for itself. One that had any is held here, and may have more. Raises: MR032.
create or replace function limits_settle(p_queue text, p_options jsonb) returns void
language plpgsql as $$
begin
  if exists (select from jsonb_each(p_options) o
              where o.key in ('ordered', 'maxRunning', 'rate', 'groupMaxRunning', 'groupRate', 'resources', 'onFailure')
                and o.value not in ('null', 'false', '"continue"'))
     and exists (select from queue q join queue_move m on m.queue_id = q.id and not m.is_leaving
                  where q.name = p_queue
                    and not exists (select from pause z where z.queue_id = q.id and z.job_id = 0)) then
    perform move_refuse('moving', format('queue "%s" is just moving here, and has had no order or limit', p_queue),
      'set it when that move has ended');
  end if;
end $$;
