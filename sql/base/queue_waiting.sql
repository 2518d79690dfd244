-- queue_waiting: which queue waits for which: those it names in waitsFor that have not finished. Derived, so that nobody has to release a queue. Private.
create or replace view queue_waiting as
select q.id as queue_id, w.name as waits_for
  from queue q cross join lateral jsonb_array_elements_text(q.options -> 'waitsFor') n (name) join queue w on w.name = n.name
 where w.finished_at is null;
