-- What callback tokens are made with (token_mac): two keys by chance, which nobody reads but the functions that make
-- and check tokens. Other keys make all tokens void that were given out.
create table token_secret (
  only_row  boolean primary key default true check (only_row),
  inner_key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
  outer_key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
insert into token_secret default values;

-- Differences of how many jobs are suspended (agenda.waits), by lane: their sum is how many there are. Folded into one
-- row per lane (suspended_fold). A table of its own, because a column of "tally" would be written by each enqueue.
create table suspended_tally (
  lane bigint not null,
  n    int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_threshold = 2000000000);

-- Processes that run workers, written by their heartbeat (worker_beat): what they are (facts), which hardly ever
-- changes, and how they do, which changes with each beat. No index but the key, and pages half empty, so that a beat is
-- a HOT update that does not touch the facts.
create table worker_process (
  id              text primary key,
  facts           jsonb not null,
  running         int not null,
  memory_bytes    bigint not null,
  stalled_seconds float8 not null,
  started_at      timestamptz not null,
  seen_at         timestamptz not null,
  expected_at     timestamptz not null
) with (fillfactor = 50);

-- Jobs that a claim took out of its lane for others who waited for the lane (sql/claim/README.md, "Spares"). They count
-- as ready. move: the move of the lane's cursor that passed them (cursor_move).
create table spare (
  lane   bigint not null,
  move   bigint not null,
  job_id bigint not null,
  xid    bigint not null default pg_current_xact_id()::text::bigint,
  at     timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index spare_next on spare (lane, move, job_id);

-- What workers say of the types they handle (type_declare): the defaults of a definition in code, for producers that do
-- not have that code. queue and defaults as options of an enqueue are; input_schema is a JSON Schema, where there is one.
create table job_definition (
  type         text primary key check (length(type) between 1 and 200),
  version      int not null,
  queue        text,
  defaults     jsonb not null,
  input_schema jsonb,
  declared_by  text,
  declared_at  timestamptz not null
);

-- Who cancelled a job, and why (job_cancel).
alter table decision drop constraint decision_action_check;
alter table decision add constraint decision_action_check check (action in ('retry', 'discard', 'cancel'));

-- It tells how many jobs each of a sample stands for, no longer in whole numbers.
drop function if exists queue_live(int, bigint[], int);
