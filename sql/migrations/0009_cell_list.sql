-- Several cells that are used as one: sql/cells/README.md. A cell that is used alone has a row of cell_self, and nothing
-- else here.

-- Who this cell is. name: what it is called among others, once it has been used with them.
create table cell_self (
  only_row boolean primary key default true check (only_row),
  id       uuid not null default gen_random_uuid(),
  name     text
);
insert into cell_self default values;

-- Cells that new queues are placed in. version: of the list with which the cell came; even once it is a member, odd
-- while it joins.
create table cell_member (
  name      text primary key,
  version   int not null,
  joined_at timestamptz not null default clock_timestamp()
);

-- Queues that were placed by this cell: in it, or (cell) in another one.
create table cell_place (
  queue     text primary key,
  cell      text,
  placed_at timestamptz not null default clock_timestamp()
);

-- Workers that serve this cell.
create table cell_lease (
  holder     text primary key,
  cells      int not null,
  began_at   timestamptz not null,
  until      timestamptz not null
) with (fillfactor = 50);
