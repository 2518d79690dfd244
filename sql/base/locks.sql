-- Keys of the advisory locks, distinct for each cell of a database. They cost no write, and are gone with their
-- transaction.

-- lane_lock: claims of a lane follow each other; a transaction that seizes the lane keeps them off.
create or replace function lane_lock(p_lane bigint) returns bigint
language sql stable as $$ select hashint8extended(p_lane, 'lane'::regclass::oid::bigint * 4) $$;

-- lane_flag: shared by those who hold single jobs of the lane. A claim that gets it for itself need not look for held
-- jobs.
create or replace function lane_flag(p_lane bigint) returns bigint
language sql stable as $$ select hashint8extended(p_lane, 'lane'::regclass::oid::bigint * 4 + 1) $$;

-- lane_entry: shared by those who put jobs back into a lane; taken by a purge.
create or replace function lane_entry(p_lane bigint) returns bigint
language sql stable as $$ select hashint8extended(p_lane, 'lane'::regclass::oid::bigint * 4 + 2) $$;

-- lane_birth: taken by the one who makes a lane of what producers have announced.
create or replace function lane_birth(p_lane bigint) returns bigint
language sql stable as $$ select hashint8extended(p_lane, 'scout'::regclass::oid::bigint * 4) $$;

-- ring_pin: shared by those who give ended jobs of a day another life; taken by the rotation that gives back its space.
create or replace function ring_pin(p_slot smallint) returns bigint
language sql stable as $$ select hashint8extended(p_slot, 'ring'::regclass::oid::bigint * 4) $$;

-- job_mark: taken by the one who decides on a waiting job.
create or replace function job_mark(p_job_id bigint) returns bigint
language sql stable as $$ select hashint8extended(p_job_id, 'lane'::regclass::oid::bigint * 4 + 3) $$;

-- queue_links: taken to finish queues, to open one again, or to change what one waits for.
create or replace function queue_links() returns bigint
language sql stable as $$ select hashint8extended(0, 'queue'::regclass::oid::bigint * 4 + 1) $$;

-- queue_limit, type_limit, resource_limit: claims that must not exceed a limit of a queue, a type or a resource follow
-- each other. Also the keys of their buckets, as group_bucket and tenant_bucket are of a group and of a tenant's
-- enqueues.
create or replace function queue_limit(p_queue_id int) returns bigint
language sql stable as $$ select hashint8extended(p_queue_id, 'queue'::regclass::oid::bigint * 4) $$;
create or replace function type_limit(p_type text) returns bigint
language sql stable as $$ select hashtextextended(p_type, 'job_type'::regclass::oid::bigint * 4) $$;
create or replace function group_bucket(p_queue_id int, p_hash bigint) returns bigint
language sql stable as $$
  select hashint8extended(p_hash, ('group_setting'::regclass::oid::bigint << 32) + p_queue_id)
$$;
create or replace function tenant_bucket(p_queue_id int, p_tenant text) returns bigint
language sql stable as $$ select hashtextextended(p_tenant, ('bucket'::regclass::oid::bigint << 32) + p_queue_id) $$;
create or replace function resource_limit(p_resource text) returns bigint
language sql stable as $$ select hashtextextended(p_resource, 'resource'::regclass::oid::bigint * 4) $$;

-- lane_spares: shared by those who wait for a lane, and by those who take what a claim left for them. A claim that gets
-- it for itself has nobody waiting; a transaction that seizes the lane keeps them off.
create or replace function lane_spares(p_lane bigint) returns bigint
language sql stable as $$ select hashint8extended(p_lane, 'scout'::regclass::oid::bigint * 4 + 1) $$;
