-- queue_settings: all that has to come along when a queue moves to another cell, and what speaks against it. As text,
-- because numbers of users go through it that programs would round.
-- {"options", "groups", "types", "resources", "deadLetter": {"name", "options"}, "cell": defaults of this cell,
-- "limited": whether the other cell must not begin before this one has ended, "fillSeconds": how long the slowest of
-- its rates takes to fill up, "live": how many jobs, "latestDueAt": when the last one that waits for its time is due,
-- "schedules": their names, "paused", "closed": {"by", "because"}, "parts": paused ones of the queue,
-- "sqs": the queue as SQS clients see it, if they do, "against": [{"reason", "message", "remedy"}]}. Raises: MR003.
create or replace function queue_settings(p_queue text) returns text
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_id constant int := queue_id(p_queue);
  q queue;
  v_types text[];
  v_resources text[];
  v_limited text[];
  v_answer jsonb;
begin
  select * into q from queue where id = v_id;
  v_types := array(select distinct l.type from lane_known l where l.queue_id = v_id order by 1);
  v_resources := array(
    select distinct k.name
      from (select l.resources from lane_known l where l.queue_id = v_id and l.resources is not null
            union all select q.options -> 'resources' where q.options ? 'resources'
            union all select t.options -> 'resources' from job_type t
             where t.type = any (v_types) and t.options ? 'resources') r
     cross join lateral jsonb_object_keys(r.resources) k (name) order by 1);
  v_limited := array(select t.type from job_type t
                      where t.type = any (v_types) and t.options ?| '{maxRunning,rate}' order by 1);
  select jsonb_build_object(
      'options', q.options - 'arrivesFrom',
      'groups', coalesce((select jsonb_agg(jsonb_build_object('group', s.group_key, 'options', jsonb_strip_nulls(
        jsonb_build_object('weight', s.weight, 'maxRunning', s.max_running, 'rate', s.rate))) order by s.group_key)
        from group_setting s where s.queue_id = v_id), '[]'),
      'types', coalesce((select jsonb_object_agg(t.type, t.options) from job_type t
        where t.type = any (v_types)), '{}'),
      'resources', coalesce((select jsonb_object_agg(r.name, r.options) from resource r
        where r.name = any (v_resources)), '{}'),
      'deadLetter', (select jsonb_build_object('name', d.name, 'options', d.options - 'deadLetterQueue')
        from queue d where d.name = coalesce(q.options ->> 'deadLetterQueue', c.options ->> 'deadLetterQueue')),
      'cell', c.options,
      'limited', coalesce(q.options -> 'ordered', 'false') <> 'false'
        or q.options ?| '{maxRunning,rate,groupMaxRunning,groupRate}' or cardinality(v_limited || v_resources) > 0
        or q.options ->> 'onFailure' = 'pause'  -- a failure there stops what is here too
        or exists (select from group_setting s
                    where s.queue_id = v_id and (s.max_running is not null or s.rate is not null)),
      'fillSeconds', (select coalesce(max(rate_burst(r.rate) / (r.rate ->> 'perSecond')::float8), 0)
        from (select q.options -> 'rate' as rate union all select q.options -> 'groupRate'
              union all select t.options -> 'rate' from job_type t where t.type = any (v_limited)
              union all select r.options -> 'rate' from resource r where r.name = any (v_resources)
              union all select s.rate from group_setting s where s.queue_id = v_id) r
       where r.rate is not null),
      'live', (select v.waiting + v.delayed + v.running from queues v where v.name = p_queue),
      'latestDueAt', (select max(g.due_at) from agenda g join lane_known l on l.key = g.lane
                       where l.queue_id = v_id and isfinite(g.due_at)),
      'schedules', (select coalesce(jsonb_agg(s.name order by s.name), '[]') from schedule s
                     where schedule_queue(s.job) = p_queue and s.finished_at is null),
      'paused', case when q.paused_at is not null
                     then jsonb_build_object('by', q.paused_by, 'because', q.paused_because) end,
      'closed', case when q.closed_at is not null
                     then jsonb_build_object('by', q.closed_by, 'because', q.closed_because) end,
      'parts', (select coalesce(jsonb_agg(jsonb_build_object('type', z.type, 'group', z.group_key, 'by', z.paused_by,
                  'because', z.paused_because)), '[]') from pause z where z.queue_id = v_id and z.job_id is null),
      'sqs', (select to_jsonb(s) - 'queue_id' from sqs_queue s where s.queue_id = v_id and s.deleted_at is null))
    into v_answer from cell c;
  return (v_answer || jsonb_build_object('against', queue_against(q, v_types, v_resources, v_limited)))::text;
end $$;

-- queue_against: what speaks against moving a queue out of this cell, each with the remedy.
create or replace function queue_against(q queue, p_types text[], p_resources text[], p_limited text[]) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('reason', x.reason, 'message', x.message, 'remedy', x.remedy)), '[]')
    from (
      select 'spread' as reason, format('queue "%s" is spread over cells by tenant', q.name) as message,
             'leave it where it is; one that is no longer wanted can be closed' as remedy
       where q.options ? 'spread'
      union all
      select 'closed' as reason, format('queue "%s" is closed', q.name) as message,
             'open it, or leave it where it is until it has finished' as remedy
       where q.closed_at is not null and not exists (select from queue_move m where m.queue_id = q.id)
      union all
      select 'moving', format('queue "%s" still moves here from the cell "%s"', q.name, m.cell),
             'wait until that move has ended'
        from queue_move m where m.queue_id = q.id and not m.is_leaving
      union all
      select 'paused', format('queue "%s" is paused, or a part of it: it would never drain here', q.name),
             'resume it, and move it then'
       where q.paused_at is not null
          or exists (select from pause z where z.queue_id = q.id and z.job_id is distinct from 0)
      union all
      select 'waits', format('queue "%s" waits for others', q.name), 'take waitsFor away first'
       where q.options ? 'waitsFor'
      union all
      select 'waited', format('queue "%s" waits for "%s"', b.name, q.name), 'take waitsFor away from it first'
        from queue b where b.options -> 'waitsFor' ? q.name and b.finished_at is null
      union all
      select 'staged', format('queue "%s" has %s staged jobs: it would never drain here', q.name, sum(s.jobs)),
             'release or cancel the stages first'
        from stages s where s.queue = q.name having count(*) > 0
      union all
      -- what has left but not ended here may have dead letters still
      select 'deadLetter', format('dead letters of %s go to queue "%s"', d.source, q.name),
             'move the others first, and this one when theirs have ended here, or take deadLetterQueue away'
        from (select format('queue "%s"', o.name) as source
                from queue o where o.id <> q.id and o.finished_at is null and o.options ->> 'deadLetterQueue' = q.name
              union all
              select format('type "%s"', t.type) from job_type t where t.options ->> 'deadLetterQueue' = q.name
                 and exists (select from queue o where o.id <> q.id and o.finished_at is null)
              union all
              select 'this cell' from cell c where c.options ->> 'deadLetterQueue' = q.name
                 and exists (select from queue o where o.id <> q.id and o.finished_at is null)) d
       where not exists (select from queue_move m where m.queue_id = q.id and m.is_leaving)
      union all
      select 'resource', format('resource "%s" is also needed by queue "%s"', k.name, o.name),
             'two cells cannot share what it limits: move both, or give the queue a resource of its own'
        from (select distinct l.queue_id, k.name
                from lane_known l cross join lateral jsonb_object_keys(l.resources) k (name)
               where l.queue_id <> q.id and l.resources is not null) k
        join queue o on o.id = k.queue_id
       where k.name = any (p_resources) and o.finished_at is null
         and not exists (select from queue_move m where m.queue_id = o.id and m.is_leaving)
      union all
      select 'type', format('type "%s" has a limit, and is also used in queue "%s"', k.type, o.name),
             'two cells cannot share what it limits: move both, or limit the queues instead of the type'
        from (select distinct l.queue_id, l.type from lane_known l
               where l.queue_id <> q.id and l.type = any (p_limited)) k
        join queue o on o.id = k.queue_id
       where o.finished_at is null
         and not exists (select from queue_move m where m.queue_id = o.id and m.is_leaving)) x
$$;

-- schedule_queue: the queue of the jobs that a schedule makes.
create or replace function schedule_queue(p_job jsonb) returns text
language sql stable as $$
  select coalesce(p_job ->> 'queue', (select f.queue from job_definition f where f.type = p_job ->> 'type'), 'default')
$$;
