-- The storage engine: logs that are only appended to, and small control tables beside them.
-- Runs with search_path set to the cell's own schema; nothing here names a schema.

create type job_outcome as enum ('succeeded', 'failed', 'lost', 'expired', 'cancelled');
create type job_final_state as enum ('succeeded', 'failed', 'expired', 'cancelled');
create type failure_reason as enum ('permanent', 'exhausted', 'lost', 'purged');

-- What a job of a batch will be, once defaults have been applied (plan_resolve).
create type job_plan as (
  n bigint, queue_id int, lane bigint, track bigint, type text, priority smallint, run_at timestamptz, start_by timestamptz,
  deadline timestamptz, max_attempts int, attempt_timeout_ms int, group_key text, tenant text, fingerprint text,
  fingerprint_mode text, fingerprint_seconds float8, retry jsonb, headers json, payload bytea, payload_size int,
  content_type text, schedule text, schedule_slot timestamptz, resources jsonb, stage text, cost int
);

-- What a claim read of one track, and where the track's cursor stood then (track_read, track_advance).
create type track_reading as (
  track bigint, seq bigint, uses int, head_xid bigint, head_ticket bigint, head_offset int,
  late_xids bigint[], late_tickets bigint[], late_offsets int[],
  late_done boolean[], late_count int,
  jobs bigint[], xids bigint[], tickets bigint[], offsets int[], attempts int[], versions int[], alones boolean[],
  running bigint[], passed_xid bigint, wanted int, bytes bigint
);

-- What a claim needs of its jobs (job_lines).
create type job_lines as (
  ids bigint[], inputs text, bytes bigint, max_attempts text, extras text, start_by timestamptz, deadline timestamptz, amended boolean
);

-- One row: facts about this installation. server_id and floor_xid let a dump restored into another server be recognised.
-- breakers: some queue or type has, or had, a circuit breaker; else reports of success need not look for one.
create table cell (
  only_row      boolean primary key default true check (only_row),
  created_at    timestamptz not null default clock_timestamp(),
  server_id     bigint,
  floor_xid     bigint not null default pg_current_xact_id()::text::bigint,
  payload_limit bigint not null default 256000000 check (payload_limit between 1 and 256000000),
  options       jsonb not null default '{}',
  breakers      boolean not null default false
);
insert into cell default values;
do $$
begin
  update cell set server_id = (pg_control_system()).system_identifier;
exception when insufficient_privilege then
  null;  -- then the numbers of transactions must do
end $$;

create table queue (
  id             int generated always as identity primary key,
  name           text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$'),
  options        jsonb not null default '{}',
  paused_at      timestamptz,
  paused_by      text,
  paused_because text,
  closed_at      timestamptz,
  closed_by      text,
  closed_because text,
  closed_before  bigint,
  finished_at    timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  check (finished_at is null or closed_at is not null)
);
insert into queue (name) values ('default');
-- Those that may finish. closed_before: whoever enqueued without seeing the close has a lower transaction number (queues_finish).
create index queue_closing on queue (id) where closed_at is not null and finished_at is null;

-- What was set for single groups of a queue. hash: as in group_track, so that a track tells it.
create table group_setting (
  queue_id       int not null references queue (id),
  hash           bigint not null,
  group_key      text not null,
  weight         int not null default 1 check (weight between 1 and 1000),
  max_running    int,
  rate           jsonb,
  primary key (queue_id, hash)
);

-- Parts of a queue that are paused: a type, a group, or a group's jobs of a type. A queue as a whole has its own columns;
-- where it was paused because a job failed (onFailure), it has a row here for each, so that reports of failures never wait for each other.
create table pause (
  queue_id       int not null references queue (id),
  type           text,
  group_key      text,
  hash           bigint,
  paused_at      timestamptz not null,
  paused_by      text,
  paused_because text,
  job_id         bigint,
  check ((job_id is not null) = (type is null and group_key is null))
);
create unique index pause_part on pause (queue_id, coalesce(type, ''), coalesce(group_key, ''), coalesce(job_id, 0));

-- What happened to queues, the newest ten thousand. Read by the snapshot seen last (queue_events), so that none is missed, however late it commits.
create table queue_event (
  id        bigint generated always as identity primary key,
  xid       bigint not null default pg_current_xact_id()::text::bigint,
  at        timestamptz not null,
  queue     text not null,
  event     text not null,
  by        text,
  because   text,
  type      text,
  group_key text,
  job_id    bigint,
  stage     text,
  jobs      int
);
create index queue_event_xid on queue_event (xid);

-- Named things that jobs need while they run, and how much of each there is (maxRunning), or how often it may be used (rate).
create table resource (
  name    text primary key,
  options jsonb not null default '{}'
);

-- Token buckets of rates (lane_room, turns_take): what was left of one, when, and when it will be full again. None: full.
create table bucket (
  key     bigint primary key,
  level   float8 not null,
  at      timestamptz not null,
  full_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What circuit breakers have counted and decided, for a type in a queue (breaker_failed). Only appended to; maintain removes what says nothing any more.
create table breaker_event (
  id            bigint generated always as identity primary key,
  queue_id      int not null references queue (id),
  type          text not null,
  kind          text not null check (kind in ('failed', 'opened', 'closed')),
  at            timestamptz not null,
  jobs          int not null default 0,
  pause_seconds float8,
  open_until    timestamptz,
  error         json,
  check ((kind = 'opened') = (open_until is not null and pause_seconds is not null))
);
create index breaker_event_newest on breaker_event (queue_id, type, id);
create index breaker_event_state on breaker_event (queue_id, type, id) where kind <> 'failed';

create table job_type (
  type    text primary key check (length(type) between 1 and 200),
  options jsonb not null default '{}'
);

-- Lanes are found by claimers, never written by producers, and updated twice at most, when the first job of a group is found, and the first that costs more than 1.
-- Their locks are in base/locks.sql.
create table lane (
  key        bigint primary key check (key % 4 = 0),
  queue_id   int not null references queue (id),
  type       text not null,
  priority   smallint not null check (priority between 0 and 10),
  resources  jsonb,
  grouped    boolean not null default false,
  costs      boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);
create index lane_queue on lane (queue_id, type, priority);

-- Written by producers whose lane they cannot see yet; turned into lane rows by lane_discover.
create table scout (
  lane      bigint not null,
  queue_id  int not null,
  type      text not null,
  priority  smallint not null,
  resources jsonb,
  grouped   boolean not null,
  costs     boolean not null
);

-- Tables that every claim uses are not analyzed by themselves: nothing is planned by their statistics, and each time all plans would be made again.

-- Where each track stands (base/keys.sql). Those of groups name their lane, and what turns_take needs to know of the group:
-- turn    the ticket of the line at which its turn comes, null when it is not in line
-- since   then, entries of the line by transactions before this one do not count: they had ended when the group was found empty
-- credit  what was left of its last turn
-- held    where groups are ordered, the job that was handed out last
-- served  where jobs have costs, the lane's time up to which the group was served (turns_charge); of the line, the lane's time; its turn ends the round
-- The row with the highest seq is the cursor; a full one is left behind so that old versions are never walked.
create table lane_cursor (
  track        bigint not null,
  seq          bigint not null,
  uses         int not null default 0,
  head_xid     bigint not null,
  head_ticket  bigint not null default 0,
  head_offset  int not null default 0,
  late_xids    bigint[] not null default '{}',
  late_tickets bigint[] not null default '{}',
  late_offsets int[] not null default '{}',
  lane         bigint,
  turn         bigint,
  credit       int,
  held         bigint,
  since        bigint,
  served       numeric,
  primary key (track, seq)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000000000);

-- Ranges of a lane that were set aside: what the snapshot saw of it, beyond where its cursors stood. Where each range has come to is in lane_cursor too,
-- with a seq below 0 (aside_seq), so that whoever looks for a track's cursor finds the one of its fresh part.
create table aside (
  lane     bigint not null,
  n        bigint generated always as identity,
  snapshot pg_snapshot not null,
  set_at   timestamptz not null,
  primary key (lane, n)
);

-- What a claim read of the groups whose turn it is (turns_read): what comes next, in the order of turns, which of the groups have more,
-- and their cursors as they will stand when all of it is taken: those of fresh jobs, in the order of groups, then those of jobs claimable again.
create type turns_reading as (
  jobs bigint[], attempts int[], versions int[], alones boolean[], groups int[], bytes bigint, more boolean[], cursors lane_cursor[], low bigint
);

-- A lane to claim from (lane_candidates). key: + 3 for what was set aside of it; about: what a claim tells of it.
create type lane_candidate as (
  key bigint, priority smallint, about text, lease float8, lease_factor float8, lease_cap float8, limits jsonb, grouping jsonb, freshness float8, aging float8
);

-- Whose turn it is (turns_call): groups that may go, in the order of their places in the line; how long the turn of each is, all together, what else bounds it, and from where
-- on it is charged; of live ones, some may not be among them for want of room. is_all: nothing else of what was read counts, up to last_place at least.
-- Of owing ones the turn is passed over. time: the lane's own, where jobs have costs.
create type turns_called as (
  keys bigint[], quanta int[], places int[], cursors lane_cursor[], rooms int[], rates jsonb[], starts numeric[], total int, live int, is_all boolean, last_place int, barriers bigint[],
  owing bigint[], owing_places int[], time numeric
);

-- Where jobs have costs, what groups have to pay (turns_due): those that may go, from which time on they are charged and how much they may take; those that owe, and when the first of them is due.
create type turns_due as (keys bigint[], starts numeric[], quanta int[], owing bigint[], owing_places int[], due numeric);

-- Waiting jobs that were dropped together: all of a lane (queue_purge), or those below an id, of a group if named (queue_shed).
-- is_open: of those below an id, claims may still meet some, and go round them.
create table lane_purge (
  lane      bigint not null,
  snapshot  pg_snapshot not null,
  own_xid   bigint not null,
  own_job   bigint not null,
  purged_at timestamptz not null,
  before    bigint,
  group_key text,
  is_open   boolean not null default false
);
create index lane_purge_lane on lane_purge (lane);
create index lane_purge_open on lane_purge (lane) where is_open;

-- track: the group all its jobs belong to, where what runs of a group is limited; whoever ends it puts the group in line again (claim_announce).
create table claim (
  token      uuid not null,
  part       int not null default 0,
  lane       bigint not null,
  slot       smallint not null,
  worker     text,
  jobs       bigint[] not null,
  attempts   int[],
  unstarted  bigint[],
  deadline   timestamptz,
  started_at timestamptz not null,
  touched_at timestamptz not null,
  until      timestamptz not null,
  track      bigint,
  primary key (token, part)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000000000);

alter table claim alter column jobs set storage external, alter column attempts set storage external;

create table agenda (
  job_id     bigint primary key,
  due_at     timestamptz not null,
  lane       bigint not null,
  track      bigint not null,
  xid        bigint not null default pg_current_xact_id()::text::bigint,
  attempt    int not null,
  version    int not null default 0,
  alone      boolean not null default false,
  created_at timestamptz not null,
  stage      text,
  chain      smallint
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
create index agenda_due on agenda (due_at, job_id);
-- Jobs of groups that go in ordered batches, which came back: claims take them from here, by their ids (turns_recall). 0: its time has not come; 1: it has, and its group is in line.
create index agenda_chain on agenda (track, job_id) where chain is not null;
create index agenda_retry on agenda (lane) where attempt > 1;
-- Staged jobs, due at the infinity until their stage is released.
create index agenda_stage on agenda (lane, stage, job_id) where stage is not null;

-- Groups that have jobs, but no tokens, and when they will be put in line again.
create table snooze (
  track  bigint primary key,
  lane   bigint not null,
  due_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index snooze_due on snooze (due_at);

-- Jobs a claim went round because somebody held them (job_hold); they still count as ready.
create table postponed (
  job_id  bigint not null,
  lane    bigint not null,
  track   bigint not null,
  xid     bigint not null default pg_current_xact_id()::text::bigint,
  attempt int not null,
  version int not null,
  alone   boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table fingerprint (
  queue_id    int not null,
  fingerprint text not null,
  job_id      bigint not null,
  follow_up   bigint,
  until       timestamptz,
  primary key (queue_id, fingerprint)
);
create index fingerprint_job on fingerprint (job_id);
create index fingerprint_follow_up on fingerprint (follow_up) where follow_up is not null;

-- Recurring work: when (rule, read by src/schedule), what (job: its type and options), and how (options: overlap, missed, afterFailure and others).
-- revision: changes with each of them, so that whoever computed slots by an older one is refused.
create table schedule (
  name             text primary key,
  rule             jsonb not null,
  job              jsonb not null,
  input            json,
  options          jsonb not null default '{}',
  revision         int not null default 1,
  version          int,
  app              text,
  declared_by      text,
  declared_at      timestamptz,
  created_at       timestamptz not null,
  changed_at       timestamptz not null,
  paused_at        timestamptz,
  paused_by        text,
  paused_because   text,
  finished_at      timestamptz,
  finished_because text
);

-- What changes with every run of a schedule.
-- next_slot    the slot to be made next; -infinity: to be computed, as the first after base_at; null: none for now
-- awaits_end   the next slot counts from the end of the run that is open
-- next_try_at  making a run failed: not to be tried again before
create table schedule_state (
  schedule        text primary key references schedule (name) on delete cascade,
  revision        int not null,
  is_paused       boolean not null default false,
  awaits_end      boolean not null default false,
  next_slot       timestamptz,
  base_at         timestamptz not null,
  next_try_at     timestamptz,
  last_slot       timestamptz,
  made            bigint not null default 0,
  runs            bigint not null default 0,
  succeeded       bigint not null default 0,
  attempts        bigint not null default 0,
  seconds         float8 not null default 0,
  last_seconds    float8,
  last_attempt_at timestamptz,
  last_success_at timestamptz,
  failed_attempts int not null default 0,
  failed_runs     int not null default 0,
  missed          bigint not null default 0,
  error           json
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
create index schedule_state_due on schedule_state (next_slot) where next_slot is not null and not is_paused;

-- Slots whose job was not made yet: others of the schedule go first. batch: those asked for together, of which that many may run at once.
create table schedule_pending (
  schedule    text not null references schedule (name) on delete cascade,
  slot_at     timestamptz not null,
  kind        text not null check (kind in ('slot', 'late', 'manual', 'backfill')),
  run_at      timestamptz,
  batch       bigint,
  concurrency int,
  primary key (schedule, slot_at)
);
create sequence schedule_batch_seq;

-- One job per slot. What is known of its end is noted when it is seen (schedules_settle). Schedules without a row of their own are possible: whoever enqueues may name one.
create table schedule_run (
  schedule    text not null,
  slot_at     timestamptz not null,
  job_id      bigint not null,
  kind        text not null default 'slot',
  batch       bigint,
  outcome     text,
  attempts    int,
  started_at  timestamptz,
  finished_at timestamptz,
  seconds     float8,
  error       json,
  primary key (schedule, slot_at)
);
create index schedule_run_open on schedule_run (schedule, job_id) where outcome is null;

create table schedule_event (
  id       bigint generated always as identity primary key,
  at       timestamptz not null,
  schedule text not null,
  event    text not null,
  slot_at  timestamptz,
  slots    int,
  by       text,
  because  text
);
create index schedule_event_schedule on schedule_event (schedule, id);

-- Days on which schedules that name the calendar make no run.
create table day_calendar (
  name text primary key,
  days date[] not null
);

-- What somebody decided on a job that had run out of automatic ways to go on; goes with the job.
create table decision (
  id         bigint generated always as identity primary key,
  job_id     bigint not null,
  decided_at timestamptz not null,
  action     text not null check (action in ('retry', 'discard')),
  attempts   int,
  decided_by text,
  because    text
);
create index decision_job on decision (job_id);

-- What was done through the server, and by whom (audit_add).
create table audit (
  id         bigint generated always as identity primary key,
  at         timestamptz not null,
  who        text not null,
  action     text not null,
  object     text not null,
  result     text not null,
  count      bigint,
  address    text,
  request_id text
);

-- Requests that carried a key, and their answers, for a day (idempotent_begin).
create table idempotent (
  key     text primary key,
  request text not null,
  at      timestamptz not null,
  answer  json
);
create index idempotent_at on idempotent (at);

-- Depth: one row of deltas per statement, folded into lane_depth. Staged jobs are among the delayed ones.
create table tally (
  lane    bigint not null,
  ready   int not null default 0,
  delayed int not null default 0,
  staged  int not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 2000000000);
create table lane_depth (
  lane    bigint primary key,
  ready   bigint not null,
  delayed bigint not null,
  staged  bigint not null default 0
) with (fillfactor = 50);

-- How far the sweep for passed expiry has come, and the next point it may rely on.
create table expiry_sweep (
  only_row       boolean primary key default true check (only_row),
  swept_until    timestamptz not null default '-infinity',
  candidate      timestamptz not null default '-infinity',
  candidate_xmax bigint not null default 0
) with (fillfactor = 50);
insert into expiry_sweep default values;

-- Duties that one process at a time does for all, and when each was last done.
-- holder, until: who has it for itself, as long as it comes back in time.
create table duty (
  name    text primary key,
  done_at timestamptz not null default '-infinity',
  holder  text,
  until   timestamptz not null default '-infinity'
) with (fillfactor = 50);
insert into duty (name) values ('maintain'), ('schedule');

-- The logs. Each is a ring of fixed children; space comes back by truncating one child.
create sequence job_id_seq minvalue 0 maxvalue 4095 start 0 cycle;
create table job (
  id                 bigint not null,
  xid                bigint not null,
  run_at             timestamptz not null,
  start_by           timestamptz,
  deadline           timestamptz,
  queue_id           int not null,
  max_attempts       int not null,
  attempt_timeout_ms int,
  payload_size       int,
  cost               int,
  slot               smallint not null,
  priority           smallint not null check (priority between 0 and 10),
  type               text not null,
  resources          jsonb,
  group_key          text,
  tenant             text,
  fingerprint        text,
  content_type       text,
  schedule           text,
  schedule_slot      timestamptz,
  retry              jsonb,
  headers            json,
  source             json,
  input              json,
  payload            bytea check (octet_length(payload) < 256000000),
  check (payload_size is null or payload_size between 0 and 255999999),
  check (slot = id / 353894400000000 % 32)
) partition by list (slot);

create table attempt (
  job_id      bigint not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  retry_at    timestamptz,
  attempt     int not null,
  slot        smallint not null,
  outcome     job_outcome not null,
  state       job_final_state,
  reason      failure_reason,
  worker      text,
  error       json,
  result      json,
  log         json
) partition by list (slot);

-- Jobs enqueued together that one claim finished at their first attempt, with nothing to tell but that: one row for all of them.
-- They have places (job_place) one after another; a job has one first attempt, so streaks never overlap.
create table streak (
  first_place bigint not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  length      int not null check (length > 1),
  slot        smallint not null,
  worker      text
) partition by list (slot);

create table amendment (
  job_id        bigint not null,
  slot          smallint not null,
  version       int not null default 0,
  revived_after int not null default 0,
  max_attempts  int,
  run_at        timestamptz,
  start_by      timestamptz,
  deadline      timestamptz,
  replaced      boolean not null default false,
  input         json,
  headers       json,
  revived_at    timestamptz,
  closed_at     timestamptz,
  closed_as     job_final_state,
  discarded_at  timestamptz,
  note          json,
  updated_at    timestamptz not null
) partition by list (slot);

create table progress (
  job_id     bigint not null,
  slot       smallint not null,
  value      json not null,
  updated_at timestamptz not null
) partition by list (slot);

create table payload_piece (
  job_id bigint not null,
  slot   smallint not null,
  piece  int not null check (piece >= 0),
  bytes  bytea not null check (octet_length(bytes) between 1 and 1048576)
) partition by list (slot);

create sequence ticket_id_seq;
create table ticket (
  lane    bigint not null,
  xid     bigint not null,
  id      bigint not null default nextval('ticket_id_seq'),
  attempt int not null default 1,
  version int not null default 0,
  bytes   int,
  slot    smallint not null,
  alone   boolean not null default false,
  jobs    bigint[] not null
) partition by list (slot);
alter sequence job_id_seq owned by job.id;
alter sequence ticket_id_seq owned by ticket.id;

do $$
declare
  n text;
begin
  for i in 0 .. 31 loop
    n := lpad(i::text, 2, '0');
    execute format('create table job_%s partition of job for values in (%s)', n, i);
    execute format('alter table job_%s add primary key (id)', n);
    execute format('create index on job_%s (start_by) where start_by is not null', n);
    execute format('create index on job_%s (tenant, id) where tenant is not null', n);
    execute format('alter table job_%s alter column payload set storage external', n);
    execute format('create table attempt_%s partition of attempt for values in (%s)', n, i);
    execute format('alter table attempt_%s add primary key (job_id, attempt)', n);
    execute format('create index on attempt_%s (job_id) where state <> ''succeeded''', n);
    execute format('create table streak_%s partition of streak for values in (%s)', n, i);
    execute format('alter table streak_%s add primary key (first_place)', n);
    execute format('create table amendment_%s partition of amendment for values in (%s)', n, i);
    execute format('alter table amendment_%s add primary key (job_id)', n);
    execute format('create index on amendment_%s (start_by) where start_by is not null', n);
    execute format('create table progress_%s partition of progress for values in (%s)', n, i);
    execute format('alter table progress_%s add primary key (job_id)', n);
    execute format('create table payload_piece_%s partition of payload_piece for values in (%s)', n, i);
    execute format('alter table payload_piece_%s add primary key (job_id, piece)', n);
    execute format('alter table payload_piece_%s alter column bytes set storage external', n);
  end loop;
  for i in 0 .. 7 loop
    execute format('create table ticket_%s partition of ticket for values in (%s) with (autovacuum_analyze_threshold = 2000000000)', i, i);
    execute format('create unique index ticket_%s_position on ticket_%s (lane, xid, id)', i, i);
  end loop;
end $$;

-- The ring's own record: when each child was last emptied.
create table ring (
  slot       smallint primary key check (slot between 0 and 31),
  rotated_at timestamptz not null default '-infinity',
  survivors  bigint not null default 0
);
insert into ring (slot) select generate_series(0, 31);

-- What SQS clients see of a queue beyond what it is here (src/server/sqs). attributes: those that were given, as texts.
create table sqs_queue (
  name       text primary key,
  queue_id   int not null references queue (id),
  attributes jsonb not null default '{}',
  tags       jsonb not null default '{}',
  created_at timestamptz not null,
  changed_at timestamptz not null,
  purged_at  timestamptz,
  deleted_at timestamptz
);
create index sqs_queue_redrive on sqs_queue ((attributes ->> 'deadLetterTarget')) where deleted_at is null;

-- Dead letters on their way back, a step at a time (sqs_move_step). source, destination: as in sqs_queue; without a destination each goes where it came from.
create table sqs_move_task (
  id          uuid primary key default gen_random_uuid(),
  source      text not null,
  destination text,
  per_second  int,
  status      text not null default 'RUNNING' check (status in ('RUNNING', 'CANCELLING', 'COMPLETED', 'CANCELLED', 'FAILED')),
  failure     text,
  started_at  timestamptz not null,
  next_at     timestamptz not null,
  to_move     bigint not null,
  moved       bigint not null default 0
);
create unique index sqs_move_task_active on sqs_move_task (source) where status in ('RUNNING', 'CANCELLING');
create index sqs_move_task_source on sqs_move_task (source, started_at);

-- What receipt handles are signed with, so that only handles given out here are accepted, by any server on this schema.
create table sqs_secret (
  only_row boolean primary key default true check (only_row),
  secret   bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
insert into sqs_secret default values;
