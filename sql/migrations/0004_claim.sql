-- Each transaction that changes what claims go by (options, pauses, lanes) notes its number here (rule_changed). The
-- sum, the epoch, therefore grows with every such transaction that commits, in whatever order they do. Upkeep adds old
-- rows up.
create table rule_change (
  xid bigint primary key,
  n   numeric not null
);
insert into rule_change (xid, n) values (0, 0);

-- What a claim asked for, when that was plain under some epoch: one lane that nothing limits, to be claimed from by
-- claim_express. Lane null: it was not.
create table express_lane (
  asked text primary key,
  lane  bigint,
  about text,
  lease float8,
  epoch numeric not null
);

-- Values that a claim is made of (sql/claim/README.md). How a lane treats its groups. ordered: true or batches.
-- has_own: some groups have limits of their own. has_costs: some jobs cost more than 1.
-- is_serial: jobs without a group that come back are taken by their ids. is_young: somebody may still be open who put
-- groups in line without knowing the lane.
create type group_rules as (
  queue_id int, ordered text, most int, rate jsonb, has_own boolean, has_costs boolean, is_serial boolean, is_young
  boolean
);

-- A lane to claim from (lane_candidates). key: aside_of it for what was set aside of it. about: what a claim tells of
-- it. limits: what limits it (lane_room).
-- is_heavy: some waiting job was given a larger input than its ticket says.
drop type lane_candidate cascade;
create type lane_candidate as (
  key bigint, priority smallint, about text, lease float8, lease_factor float8, lease_cap float8, limits jsonb, groups
  group_rules, freshness float8, aging float8,
  is_heavy boolean
);

-- What a claim found before it looked at lanes (claim_prepare). is_unborn: lanes of its queues are being found by
-- somebody else. may_wait: it has written nothing yet, so that waiting for a lane cannot be in anybody's way.
create type claim_scene as (
  queue_ids int[], cell jsonb, has_asides boolean, has_sheds boolean, is_crowded boolean, is_unborn boolean, may_wait
  boolean
);

-- How far a claim has come (lanes_take). told: its claims as JSON. room, bytes: what it may still take. busy: lanes in
-- other hands. held: the highest key of those it has.
-- idle: how often in a row a lane had nothing. stop: there may be more, but not now. wait: in how many seconds a rate
-- allows for more.
create type claim_progress as (
  told text, room int, bytes bigint, busy bigint[], held bigint, idle int, stop boolean, is_limited boolean, is_rated
  boolean, wait float8
);

-- What a claim wants of one lane, and what it got. is_first: it has nothing yet, so one job goes whatever its size.
-- is_flagged: somebody may hold jobs of the lane.
-- is_shed: some of its jobs were dropped. is_serial: what came back waits in the agenda, and is taken by its id. more:
-- it is worth asking again. stop: not now.
create type claim_order as (
  lane bigint, about text, wanted int, max_bytes bigint, worker text, lease float8, lease_factor float8, lease_cap
  float8, track_start boolean, group_limit int,
  is_first boolean, is_flagged boolean, is_shed boolean, is_serial boolean, is_heavy boolean
);
create type claim_taken as (claimed text, jobs int, bytes bigint, more boolean, stop boolean);

-- Groups whose turn it is, and what they have (turns_take). keys: all of them, also those that did not fit in the end.
-- rest: how much of the last one's turn did not fit.
-- last_place: how far the line moves on. back: jobs that came back and were taken from the agenda. remains: who has
-- more of those.
create type turns_picked as (
  called turns_called, reading turns_reading, keys bigint[], turn_size int, rest int, last_place int, stop boolean, back
  turns_reading, remains boolean[]
);

-- Jobs of two tracks by their ids (tracks_merge). most: up to where they may be claimed together.
create type tracks_merged as (jobs bigint[], attempts int[], versions int[], alones boolean[], is_again boolean[], most
  int);

-- A transaction that was running when the head of a cursor passed it, and how far it was taken since.
create type late_place as (xid bigint, ticket bigint, skip int);
alter table lane_cursor add column late late_place[] not null default '{}';
update lane_cursor set late = array(
    select (l.xid, l.ticket, l.skip)::late_place
      from unnest(late_xids, late_tickets, late_offsets) with ordinality l (xid, ticket, skip, i) order by l.i)
 where late_xids <> '{}';
alter table lane_cursor drop column late_xids, drop column late_tickets, drop column late_offsets;

-- The next jobs of a track (track_read). c: from where on. late_done: which of its late transactions have ended.
-- late_count: how many jobs are of those. running: transactions that the head may pass, and that had not ended.
-- passed_xid: all tickets below it were read.
drop type track_reading cascade;
create type track_reading as (
  c lane_cursor, late_done boolean[], late_count int, jobs bigint[], xids bigint[], tickets bigint[], offsets int[],
  attempts int[], versions int[], alones boolean[],
  running bigint[], passed_xid bigint, wanted int, bytes bigint
);
