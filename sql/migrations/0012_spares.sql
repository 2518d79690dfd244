-- A spare carries what its claim is told of the job, so that nobody has to read the job again. What was left before
-- returns to its lane.
insert into postponed (job_id, lane, track, xid, attempt, version, alone)
select job_id, lane, lane, xid, 1, 0, false from spare;
drop table spare;
create table spare (
  lane         bigint not null,
  move         bigint not null,
  place        int not null,
  job_id       bigint not null,
  xid          bigint not null default pg_current_xact_id()::text::bigint,
  at           timestamptz not null,
  input        text not null,
  extras       text,
  max_attempts int not null,
  start_by     timestamptz,
  deadline     timestamptz,
  linked       boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index spare_next on spare (lane, move, place);
