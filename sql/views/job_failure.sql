-- job_failure: jobs that failed and that nobody has retried or discarded since, with the error of their last attempt.
-- Private. Along the index of attempts that did not succeed, which is in the order of jobs.
create or replace view job_failure as
select a.slot, a.job_id, a.finished_at, a.error, j.queue_id, j.type
  from attempt a
  join job j on j.slot = a.slot and j.id = a.job_id
  left join amendment m on m.slot = a.slot and m.job_id = a.job_id
 where a.state <> 'succeeded'
   and a.state = 'failed'
   and attempt_is_end(a.state, a.attempt, m.revived_after)
   and m.discarded_at is null;
