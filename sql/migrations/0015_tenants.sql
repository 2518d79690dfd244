-- Tenants of spread queues that this cell has: all of a tenant's jobs of the queue are here (sql/cells/README.md).
create table tenant_place (
  queue_id  int not null references queue (id),
  tenant    text not null,
  placed_at timestamptz not null default clock_timestamp(),
  primary key (queue_id, tenant)
);
