-- sqs_receive: claim messages of a queue, as SQS clients need them: the body exactly as it was sent (an object or array
-- is stored as it is, everything else as a string), and what can only be told from the log. Returns {"messages":
-- [{"id", "token", "body", "attempt", "receivedAt", "firstReceivedAt", "group", "fingerprint", "headers", "source"}],
-- "more"}: times in milliseconds; more: there may be more to claim right now, or in a moment: what somebody else is
-- just taking back or letting go is seen by nobody. Half a surrogate pair, which JSON may name and no text can hold, is
-- U+FFFD here: it would hide all messages that are claimed with it.
-- p_group_limit: at most so many of one group, where groups are in order. Locks, writes and raises as job_claim_json.
create or replace function sqs_receive(p_queue text, p_limit int, p_seconds float8, p_group_limit int default null)
  returns json
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  -- a look at the first pages, as claims do
  v_ended constant boolean := exists (select from claim k
                                       where (k.ctid < '(4,0)'::tid or p_group_limit is not null)
                                         and k.until <= clock_now());
  v_claims json;
  v_last json;
  v_now timestamptz;
  v_more boolean;
begin
  -- in order, nobody goes before those whose time is over; not even while somebody else is taking them back
  if v_ended and p_group_limit is not null then
    perform claim_reap(100);
    if exists (select from claim c
                 join lane l on l.key = c.lane
                where l.queue_id = queue_id(p_queue) and l.type = 'message' and c.until <= clock_now()) then
      return json_build_object('more', true, 'messages', null);
    end if;
  end if;
  v_claims := job_claim_json(array[p_queue], '{message}', p_limit, 'sqs', p_seconds, null, null, 67108864, false, true,
    p_group_limit);
  v_last := v_claims -> -1;
  v_now := clock_now();
  v_more := coalesce((v_last ->> 'more')::boolean or (v_last ->> 'busy')::boolean, false);
  if v_last ->> 'token' is null and not v_more then
    v_more := v_ended
      or exists (select from claim c
                   join lane l on l.key = c.lane
                   join queue q on q.id = l.queue_id
                  where q.name = p_queue and l.type = 'message' and c.until <= v_now)
      or exists (select from agenda g
                   join lane l on l.key = g.lane
                   join queue q on q.id = l.queue_id
                  where q.name = p_queue and l.type = 'message' and g.due_at <= v_now and (g.chain = 1) is not true);
  end if;
  return json_build_object('more', v_more, 'messages', (
    select json_agg(m.message order by m.turn, m.claim, m.place)
      from (select json_build_object('id', u.id, 'token', c.token, 'attempt', x.attempt, 'receivedAt', x.at,
             'body', case json_typeof(u.input) when 'string' then u.input #>> '{}' else u.input::text end,
             'firstReceivedAt',
               case when x.attempt = 1 and x.source is null then x.at
                    else coalesce(sqs_first_received(coalesce(
                           (coalesce(x.source ->> 'firstId', x.source ->> 'id'))::bigint, u.id::bigint)), x.at) end,
             'group', u.extras -> 'group', 'fingerprint', u.extras -> 'fingerprint', 'headers', u.extras -> 'headers',
             'source', x.source) as message,
             -- what came back of a group, and what is new, go together
             case when p_group_limit is not null then min(c.i) over (partition by u.extras ->> 'group') end as turn,
             c.i as claim, u.i as place
      from json_array_elements(v_claims) with ordinality e (value, i)
     -- once for each claim: it has all of its bodies
     cross join lateral (select e.value ->> 'token' as token,
                                floor(date_part('epoch', (e.value ->> 'claimedAt')::timestamptz) * 1000) as at, e.i
                          offset 0) c
     cross join lateral rows from (
         json_array_elements_text(e.value -> 'ids'), json_array_elements(e.value -> 'inputs'),
         json_array_elements(e.value -> 'extras'), json_array_elements_text(e.value -> 'attempts'))
       with ordinality u (id, input, extras, attempt, i)
     cross join lateral (select coalesce(u.attempt::int, 1) as attempt, c.at,
                                case when (u.extras -> 'source' ->> 'attempts') is not null
                                       then u.extras -> 'source' end as source) x
     where c.token is not null) m));
end $$;

-- sqs_first_received: when the first attempt of a job began, in milliseconds; null when nothing is recorded of one.
create or replace function sqs_first_received(p_job_id bigint) returns float8
language plpgsql stable as $$
begin
  return (select floor(date_part('epoch', a.started_at) * 1000)
            from attempt a
           where a.slot = job_slot(p_job_id) and a.job_id = p_job_id
           order by a.attempt limit 1);
end $$;
