-- sqs_receive: claim messages of a queue, as SQS clients need them. Returns {"claims": [as job_claim_json], "first":
-- {id: milliseconds}, "more"}. first: when the first attempt began, of those that were received before, or are copies
-- of such. more: there may be more to claim right now, or in a moment: what somebody else is just taking back or
-- letting go is seen by nobody; null when the claims tell. Bodies are the texts of the inputs, which the caller takes
-- as they are: to make messages of them here cost half as much as the claim.
-- p_group_limit: at most so many of one group, where groups are in order. Locks, writes and raises as job_claim_json.
create or replace function sqs_receive(p_queue text, p_limit int, p_seconds float8, p_group_limit int default null)
  returns json
language plpgsql security definer set search_path from current set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  -- a look at the first pages, as claims do
  v_ended constant boolean := exists (select from claim k
    where (k.ctid < '(4,0)'::tid or p_group_limit is not null) and k.until <= clock_now());
  v_claims json;
  v_first json;
  v_last json;
  v_now timestamptz;
  v_more boolean;
begin
  -- in order, nobody goes before those whose time is over; not even while somebody else is taking them back
  if v_ended and p_group_limit is not null then
    perform claim_reap(100);
    if exists (select from claim c join lane l on l.key = c.lane
      where l.queue_id = queue_id(p_queue) and l.type = 'message' and c.until <= clock_now()) then
      return json_build_object('more', true, 'claims', '[]'::json);
    end if;
  end if;
  v_claims := job_claim_json(array[p_queue], '{message}', p_limit, 'sqs', p_seconds, null, null, 67108864, false, true,
    p_group_limit);
  if strpos(v_claims::text, '"token"') = 0 then
    v_last := v_claims -> -1;
    v_now := clock_now();
    v_more := coalesce((v_last ->> 'more')::boolean or (v_last ->> 'busy')::boolean, false) or v_ended
      or exists (select from claim c join lane l on l.key = c.lane join queue q on q.id = l.queue_id
        where q.name = p_queue and l.type = 'message' and c.until <= v_now)
      or exists (select from agenda g join lane l on l.key = g.lane join queue q on q.id = l.queue_id
        where q.name = p_queue and l.type = 'message' and g.due_at <= v_now and (g.chain = 1) is not true);
  -- a body may say so too, which costs a look
  elsif strpos(v_claims::text, '"attempts"') > 0 then
    select json_object_agg(u.id, sqs_first_received(coalesce(x.first, u.id::bigint))) into v_first
      from json_array_elements(v_claims) e
     cross join lateral rows from (json_array_elements_text(e.value -> 'ids'), json_array_elements(e.value -> 'extras'),
       json_array_elements_text(e.value -> 'attempts')) u (id, extras, attempt)
     cross join lateral (select case when u.extras -> 'source' ->> 'attempts' is not null
       then coalesce(u.extras -> 'source' ->> 'firstId', u.extras -> 'source' ->> 'id')::bigint end as first) x
     where e.value ->> 'token' is not null and (u.attempt::int > 1 or x.first is not null);
  end if;
  return json_build_object('more', v_more, 'first', v_first, 'claims', v_claims);
end $$;

-- sqs_first_received: when the first attempt of a job began, in milliseconds; null when nothing is recorded of one.
create or replace function sqs_first_received(p_job_id bigint) returns float8
language plpgsql stable as $$
begin
  return (select floor(date_part('epoch', a.started_at) * 1000) from attempt a
    where a.slot = job_slot(p_job_id) and a.job_id = p_job_id order by a.attempt limit 1);
end $$;
