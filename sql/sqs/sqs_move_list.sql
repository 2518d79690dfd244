-- sqs_move_list: the newest tasks of a source. Reads: sqs_move_task.
create or replace function sqs_move_list(p_source text, p_limit int) returns json
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select coalesce(json_agg(json_build_object(
                   'id', t.id, 'destination', t.destination, 'perSecond', t.per_second, 'status', t.status,
                   'failure', t.failure, 'startedAt', floor(date_part('epoch', t.started_at) * 1000),
                   'toMove', t.to_move, 'moved', t.moved)
                   order by t.started_at desc), '[]')
            from (select * from sqs_move_task where source = p_source order by started_at desc limit p_limit) t);
end $$;
