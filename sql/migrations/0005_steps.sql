-- Durable work (sql/steps/README.md). What a run remembers is a log beside its job. One row per
--   done     step that has ended, with its value, or the error that its handler survived
--   try      failed try of a step that has retries of its own
--   due      sleep, or wait with a timeout: when it ends
--   got      wait that was ended by a signal
--   started  children that a step has enqueued
--   ended    end of a child
--   signal   signal that was sent, waited for or not
--   rewind   rewind: what was written from "other" on is void
-- key: the name of the step, with a number when the name is used again. Of a signal: its name. n: which try, child or
-- signal. id: rises with time within a job.
create type step_kind as enum ('done', 'try', 'due', 'got', 'started', 'ended', 'signal', 'rewind');
create sequence step_id_seq;
create table step (
  job_id      bigint not null,
  n           bigint not null default 0,
  id          bigint not null default nextval('step_id_seq'),
  at          timestamptz not null,
  until       timestamptz,
  other       bigint,
  seconds     float8,
  slot        smallint not null,
  kind        step_kind not null,
  key         text collate "C" not null,
  about       text,
  value       json,
  error       json,
  jobs        bigint[]
) partition by list (slot);
alter sequence step_id_seq owned by step.id;

-- Who waits for the end of a job before it may begin (flow_enqueue). In the day of the one that is waited for.
create table edge (
  target bigint not null,
  waiter bigint not null,
  slot   smallint not null
) partition by list (slot);
do $$
declare
  s text;
begin
  for i in 0 .. 31 loop
    s := lpad(i::text, 2, '0');
    execute format('create table step_%s partition of step for values in (%s)', s, i);
    execute format('alter table step_%s add primary key (job_id, key, kind, n)', s);
    execute format('create table edge_%s partition of edge for values in (%s)', s, i);
    execute format('alter table edge_%s add primary key (target, waiter)', s);
  end loop;
end $$;

-- A job of a flow as it is given (flow_enqueue).
create type flow_line as (type text, input json, options json, after json, "when" text);

-- Whose child a job is: the step of its parent, and the number among its siblings; of a job of a flow, the flow.
alter table job add column parent bigint, add column parent_key text, add column parent_n int;

-- Somebody waits for the end of the job, or it has children: its end is told (notice_append).
alter table amendment add column linked boolean not null default false;
alter table claim add column linked boolean not null default false;

-- What a suspended job waits for: {"signals": {name: key of the step}, "children": {key of the step: how many are left,
-- null when nobody has counted}, "totals": {key: how many there are}, "keys": [keys of steps]}. Of a job of a flow that
-- has not begun: {"after": how many jobs are left that it waits for, "of": of how many, "bad": how many of those that
-- have ended did not succeed, "when", "check": jobs that were there before it}. Null for a job that is merely delayed.
alter table agenda add column waits jsonb;

drop type job_lines cascade;
create type job_lines as (
  ids bigint[], inputs text, bytes bigint, max_attempts text, extras text, start_by timestamptz, deadline timestamptz,
  amended boolean, linked boolean
);
drop type settlement cascade;
create type settlement as (
  token uuid, outcome text, jobs json, results json, logs json, error json, "delaySeconds" float8, steps json, waits json
);
-- Steps as a worker sends them (steps_put), and what a run waits for (job_suspend).
create type run_steps as (token uuid, job bigint, steps json);
create type step_line as (
  key text, kind text, n bigint, error json, ms float8, about text, seconds float8, until timestamptz
);
create type wait_line as (
  key text, seconds float8, until timestamptz, signals text[], children int, retry boolean
);

drop function if exists job_count(text, text, text, text, timestamptz, timestamptz);

-- Runs that are suspended together (runs_suspend).
create type run_suspended as (token uuid, job bigint, steps json, waits wait_line[]);

-- Where the log of notices is read from next: a track of its own (notice_track).
insert into lane_cursor (track, seq, head_xid) values (9, 1, pg_current_xact_id()::text::bigint);
