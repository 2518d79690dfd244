-- job_attempt: the finished attempts of jobs in both of their forms, a row of its own or a part of a streak. Private.
-- Columns as in the table "attempt".
create or replace view job_attempt as
select job_id, started_at, finished_at, retry_at, attempt, slot, outcome, state, reason, worker, error, result, log
  from attempt
union all
select j.id, s.started_at, s.finished_at, null, 1, j.slot, 'succeeded', 'succeeded', null, s.worker, null, null, null
  from job j
  cross join lateral (select * from streak s
                       where s.slot = j.slot and s.first_place <= job_place(j.id)
                       order by s.first_place desc limit 1) s
 where s.first_place + s.length > job_place(j.id);
