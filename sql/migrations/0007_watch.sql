-- What somebody has ordered workers to do: to hold (take no jobs) or to run so many handlers at once. For a process,
-- for all workers of a name, or for those of a name in one process; '' stands for any. One without an order has no row.
create table worker_order (
  process     text not null,
  worker      text not null,
  hold        text check (hold in ('pause', 'drain')),
  concurrency int check (concurrency between 1 and 9000),
  at          timestamptz not null,
  by          text,
  because     text,
  primary key (process, worker),
  check (process <> '' or worker <> ''),
  check (hold is not null or concurrency is not null)
);

-- The history, by the minute and by the hour: rings that are truncated child by child, never deleted row by row. A
-- series is what a row is of: all queues (queue and type ''), a queue (type ''), or a type of a queue. used_at: about
-- when it last had a row.
create table history_series (
  id      int generated always as identity primary key,
  queue   text not null,
  type    text not null,
  used_at timestamptz not null,
  unique (queue, type)
);

-- minute, hour: how many since 1970. Counts are of that time; waiting, running and oldest_seconds are at its end (of an
-- hour the highest), and null where nobody looked in time. kinds: failures by kind, {kind: how many}.
create table sample_minute (
  series         int not null,
  minute         int not null,
  enqueued       int not null,
  finished       int not null,
  runs           int not null,
  failed         int not null,
  waiting        int,
  running        int,
  oldest_seconds real,
  wait_p50       real,
  wait_p95       real,
  run_p50        real,
  run_p95        real,
  slot           smallint not null,
  kinds          jsonb,
  check (slot = minute / 360 % 5)
) partition by list (slot);

create table sample_hour (
  series         int not null,
  hour           int not null,
  enqueued       int not null,
  finished       int not null,
  runs           int not null,
  failed         int not null,
  waiting        int,
  running        int,
  oldest_seconds real,
  wait_p50       real,
  wait_p95       real,
  run_p50        real,
  run_p95        real,
  slot           smallint not null,
  kinds          jsonb,
  check (slot = hour / 120 % 7)
) partition by list (slot);

do $$
begin
  for i in 0 .. 4 loop
    execute format('create table sample_minute_%s partition of sample_minute for values in (%s)', i, i);
    execute format('alter table sample_minute_%s add primary key (series, minute)', i);
  end loop;
  for i in 0 .. 6 loop
    execute format('create table sample_hour_%s partition of sample_hour for values in (%s)', i, i);
    execute format('alter table sample_hour_%s add primary key (series, hour)', i);
  end loop;
end $$;
insert into duty (name) values ('history');

-- What somebody wants to be told of. options: what it looks at, by its kind (rule_check). It fires when its condition
-- has held for so many seconds, and is resolved when it has not held for as long. Those below are there from the start.
create table alert_rule (
  name             text primary key,
  kind             text not null,
  options          jsonb not null,
  for_seconds      float8 not null,
  hooks            text[] not null,
  is_on            boolean not null,
  silenced_until   timestamptz,
  silenced_by      text,
  silenced_because text,
  put_by           text,
  put_at           timestamptz not null
);
insert into alert_rule (name, kind, options, for_seconds, hooks, is_on, put_at)
  select name, kind, options::jsonb, for_seconds, '{}', is_on, now()
    from (values ('oldest-job', 'oldest', '{"seconds": 900}', 60, true),
                 ('failure-rate', 'failures', '{"share": 0.5, "minRuns": 20, "windowSeconds": 300}', 60, true),
                 ('breaker-open', 'breaker', '{}', 60, true),
                 ('schedule-failing', 'schedule', '{}', 60, true),
                 ('no-worker', 'unhandled', '{"seconds": 300}', 60, true),
                 ('backlog-growth', 'backlog', '{"growth": 10000, "windowSeconds": 1800}', 300, false),
                 ('disk-size', 'size', '{"bytes": 50000000000}', 300, false))
      r (name, kind, options, for_seconds, is_on);

-- Subjects (queues, types, schedules) for which the condition of a rule holds: since when, when it was last seen to,
-- and since when it has fired. is_told: web hooks were sent.
create table alert (
  rule     text not null references alert_rule on delete cascade,
  subject  text not null,
  since    timestamptz not null,
  seen_at  timestamptz not null,
  fired_at timestamptz,
  is_told  boolean not null default false,
  value    float8,
  message  text not null,
  primary key (rule, subject)
);

-- What happened to alerts; the newest 10,000.
create table alert_event (
  id      bigint generated always as identity primary key,
  at      timestamptz not null,
  event   text not null,
  rule    text not null,
  subject text,
  value   float8,
  message text,
  by      text
);

-- Where alerts are sent to. Neither the whole address nor the secret is ever shown again.
create table hook (
  name   text primary key,
  url    text not null,
  secret text not null,
  put_by text,
  put_at timestamptz not null
);
insert into duty (name) values ('alerts');
