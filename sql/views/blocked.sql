-- type_blocked: types of queues that are held back as a whole, and until when: they are paused, or their breaker was
-- opened. Private. Who reads it compares the time: with a view that reads the clock, the planner computes "jobs" for
-- all jobs before it chooses any.
create or replace view type_blocked as
select z.queue_id, z.type, 'infinity'::timestamptz as until
  from pause z where z.type is not null and z.group_key is null
union all
select e.queue_id, e.type, e.open_until
  from (select distinct on (b.queue_id, b.type) b.queue_id, b.type, b.open_until
          from breaker_event b where b.kind <> 'failed' order by b.queue_id, b.type, b.id desc) e
  join queue q on q.id = e.queue_id
  left join job_type t on t.type = e.type
 where e.open_until is not null and (q.options ? 'breaker' or t.options ? 'breaker');
