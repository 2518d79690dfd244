-- sqs_queue_list: names that begin with a prefix, from p_after on; where p_target is given, of the queues whose dead
-- letters go there.
create or replace function sqs_queue_list(p_prefix text, p_after text, p_limit int, p_target text default null)
  returns json
language plpgsql stable security definer set search_path from current set jit = off as $$
begin
  return (select coalesce(json_agg(x.name order by x.name collate "C"), '[]')
            from (select s.name from sqs_queue s
                   where s.deleted_at is null
                     and starts_with(s.name, p_prefix)
                     and s.name collate "C" > p_after
                     and (p_target is null or s.attributes ->> 'deadLetterTarget' = p_target)
                   order by s.name collate "C" limit p_limit) x);
end $$;
