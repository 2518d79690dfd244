-- Lanes that have nothing cost nothing (lanes_rest). rest_xid: claims do not look at the lane, and producers announce it again, below 0: since the commit of this transaction. Above:
-- whoever has a lower number may not know yet. is_asleep: everybody knows. place: by chance, where a queue has very many lanes, a claim looks at some from a place on (lanes_window). heavy: some waiting job was given a larger input than its ticket says.
alter table lane add column heavy boolean not null default false, add column woken_at timestamptz not null default clock_timestamp(), add column rest_xid bigint, add column is_asleep boolean not null default false,
  add column place int not null default (random() * 2147483647)::int;
create index lane_awake on lane (queue_id, priority, place) where rest_xid is null;
create index lane_awake_type on lane (queue_id, type, priority, place) where rest_xid is null;
create index lane_resting on lane (rest_xid) where rest_xid is not null and not is_asleep;
create index lane_asleep on lane (key) where is_asleep;
alter table scout add column heavy boolean not null default false;
alter type lane_candidate add attribute heavy boolean;
-- Fingerprints whose time has passed are looked at once (fingerprints_tidy), -infinity: their job still waited then, and its end releases them.
create index fingerprint_until on fingerprint (until) where until > '-infinity';
-- It returns one column more now.
drop function if exists jobs_ended(bigint[], text, int, int);
-- What a worker sends, read as a whole before anything is done (job_settle).
create type settlement as (token uuid, outcome text, jobs json, results json, logs json, error json, "delaySeconds" float8);
create type claim_request as (
  queues text[], types text[], "limit" int, worker text, "leaseSeconds" float8, "leaseFactor" float8, "leaseCapSeconds" float8, "maxBytes" bigint, "trackStart" boolean, "groupLimit" int
);
