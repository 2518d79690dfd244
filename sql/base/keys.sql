-- Arithmetic of keys; small enough to be inlined into the statements that use it.

-- job_id_new: microseconds since 2020 in the upper 51 bits, a cycling number in the lower 12.
-- One session's ids rise, because making one takes longer than a microsecond.
create or replace function job_id_new() returns bigint
language sql volatile as $$
  select (((date_part('epoch', clock_now()) * 1000000)::bigint - 1577836800000000) << 12) | nextval('job_id_seq')
$$;

-- job_slot: the ring child of a job's logs, from the day inside its id (86,400,000,000 µs << 12).
create or replace function job_slot(p_job_id bigint) returns smallint
language sql immutable parallel safe as $$ select (p_job_id / 353894400000000 % 32)::smallint $$;

-- job_place, job_at: an id with its halves exchanged, so that jobs enqueued together, a microsecond apart, have places
-- one after another.
create or replace function job_place(p_job_id bigint) returns bigint
language sql immutable parallel safe as $$ select ((p_job_id & 4095) << 51) | (p_job_id >> 12) $$;

create or replace function job_at(p_place bigint) returns bigint
language sql immutable parallel safe as $$ select ((p_place & 2251799813685247) << 12) | (p_place >> 51) $$;

create or replace function job_created_at(p_job_id bigint) returns timestamptz
language sql immutable parallel safe as $$
  select timestamptz '2020-01-01 00:00:00+00' + (p_job_id >> 12) * interval '1 microsecond'
$$;

-- job_id_at: the lowest id a job created at this time can have; ids end in 2091. Any time will do, the infinite ones
-- too: people ask for jobs from the beginning to the end of time.
create or replace function job_id_at(p_time timestamptz) returns bigint
language sql immutable strict parallel safe as $$
  select least(
    greatest(0, (date_part('epoch', least(greatest(p_time, time_first()), time_last())) * 1000000)::bigint
      - 1577836800000000),
    2251799813685247) << 12
$$;

-- lane_key: the lane of (queue, type, priority, resources), and the track of its fresh jobs; + 1 is the track of jobs
-- claimable again, + 2 that of the turns of its groups. A hash, so that producers need not agree on a number with
-- anybody. lane_discover refuses a collision.
create or replace function lane_key(p_queue_id int, p_type text, p_priority int, p_resources jsonb) returns bigint
language sql immutable parallel safe as $$
  select hashtextextended(p_type || coalesce(' ' || p_resources::text, ''), p_queue_id::bigint * 16 + p_priority) & -4
$$;

-- group_track: the fresh track of a group inside a lane. Without a group: the lane's own. Two groups that share a hash
-- share their turns, which harms neither.
create or replace function group_track(p_lane bigint, p_group text) returns bigint
language sql immutable parallel safe as $$ select p_lane # coalesce(hashtextextended(p_group, 1) & -4, 0) $$;

-- job_bytes: what a job adds to a claim, about: its input, its headers, and a payload that is small enough to travel
-- with it, in base64.
create or replace function job_bytes(p_input json, p_headers json, p_payload bytea) returns int
language sql immutable parallel safe as $$
  select coalesce(octet_length(p_input::text), 4) + coalesce(octet_length(p_headers::text), 0)
    + case when octet_length(p_payload) <= 65536 then octet_length(p_payload) * 4 / 3 else 0 end
$$;

-- age_seconds: how long ago a time was; 0 when it lies ahead.
create or replace function age_seconds(p_now timestamptz, p_since timestamptz) returns float8
language sql stable strict as $$ select greatest(0, date_part('epoch', p_now - p_since)) $$;
