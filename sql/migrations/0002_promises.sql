-- What a purge or a shedding dropped of the agenda is found by its lane; so is all that waits for its time when counts are proved.
drop index agenda_retry;
create index agenda_lane on agenda (lane);
-- leftover: the agenda may still have rows that this one dropped; upkeep deletes them (agenda_drop).
alter table lane_purge add column leftover boolean not null default true;
create index lane_purge_leftover on lane_purge (lane) where leftover;
-- The cursors of groups, found by their lane when counts are proved.
create index lane_cursor_lane on lane_cursor (lane) where lane is not null;
-- The number of the transaction that wrote the candidate down: the end of a snapshot, which was here, may lie before one that runs.
alter table expiry_sweep rename column candidate_xmax to candidate_xid;
update expiry_sweep set candidate = swept_until, candidate_xid = 0;
-- Of its own transaction's tickets a purge dropped those below this number.
alter table lane_purge add column own_ticket bigint not null default 9223372036854775807;
-- Jobs that come back where jobs have an order wait in the agenda, and are taken by their ids (agenda.chain): which one was handed out last need not be known.
alter table lane_cursor drop column held;
update agenda a set chain = 0 from lane l join queue q on q.id = l.queue_id
 where l.key = a.lane and a.chain is null and a.attempt > 1
   and case when a.track = a.lane then q.options ->> 'maxRunning' = '1' else coalesce(q.options -> 'ordered', 'false') <> 'false' end;
-- Of these, those that are due count as ready.
insert into tally (lane, ready, delayed) select lane, count(*), -count(*) from agenda where chain = 1 group by lane;
-- When the lane was made, or found to have groups. While a transaction from before that is open, it may put groups in line without knowing this lane.
alter table lane add column born_xid bigint not null default 0;
