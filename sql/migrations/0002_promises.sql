-- What a purge or a shedding dropped of the agenda is found by its lane; so is all that waits for its time when counts are proved.
drop index agenda_retry;
create index agenda_lane on agenda (lane, attempt);
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
