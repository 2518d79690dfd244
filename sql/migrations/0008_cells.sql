-- Many cells: where queues live, and how they move (sql/cells/README.md).

-- In which cell a queue lives, where that is not where its name says: the key is the queue, or queue/tenant. Every cell
-- has a copy; the higher version holds. A hint: what decides is the queue's own row.
create table route (
  key     text primary key check (length(key) between 1 and 400),
  cell    text not null check (cell ~ '^[a-z][a-z0-9-]{0,30}$'),
  version bigint not null
);

-- Queues that move: out of this cell (is_leaving; the row stays), or into it (until all has ended in the other one).
-- A table of its own, because every enqueue reads "queue".
create table queue_move (
  queue_id   int primary key references queue (id),
  cell       text not null,
  is_leaving boolean not null,
  version    bigint not null,
  began_at   timestamptz not null,
  began_by   text
);

-- It answers with one thing more.
drop function if exists cell_status();
