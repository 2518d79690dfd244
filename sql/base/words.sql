-- Words for arithmetic that would be a riddle where it is used: of tracks, of the ring of tickets, of transactions.
-- Each is one expression, and promises no more than that keeps, so that PostgreSQL inlines it: they cost nothing.

-- A lane's key ends in two zero bits, and so does the key of each of its groups. The four numbers that differ in those
-- bits are its tracks: of fresh jobs (the key itself), of jobs claimable again, the line of its groups' turns, and what
-- was set aside of it, which only a claim's list of lanes names.
create or replace function fresh_of(p_track bigint) returns bigint
language sql immutable parallel safe as $$ select p_track & -4 $$;

create or replace function again_of(p_key bigint) returns bigint
language sql immutable parallel safe as $$ select p_key + 1 $$;

create or replace function line_of(p_lane bigint) returns bigint
language sql immutable parallel safe as $$ select p_lane + 2 $$;

create or replace function aside_of(p_lane bigint) returns bigint
language sql immutable parallel safe as $$ select p_lane + 3 $$;

-- hash_of, track_of: a group's key is its lane's and its hash, mixed so that either gives the other.
create or replace function hash_of(p_track bigint, p_lane bigint) returns bigint
language sql immutable parallel safe as $$ select p_track # p_lane $$;

create or replace function track_of(p_hash bigint, p_lane bigint) returns bigint
language sql immutable parallel safe as $$ select p_lane # p_hash $$;

-- ring_turn, ring_turn_end: the ring of tickets turns on by one child every 262,144 transactions.
create or replace function ring_turn(p_xid bigint) returns bigint
language sql immutable parallel safe as $$ select p_xid >> 18 $$;

create or replace function ring_turn_end(p_xid bigint) returns bigint
language sql immutable parallel safe as $$ select ((p_xid >> 18) + 1) << 18 $$;

-- ticket_slot: the ring child of a ticket, from its transaction.
create or replace function ticket_slot(p_xid bigint) returns smallint
language sql immutable parallel safe as $$ select ((p_xid >> 18) % 8)::smallint $$;

-- xid_now: the number of this transaction, which gets one if it has none.
create or replace function xid_now() returns bigint
language sql stable as $$ select pg_current_xact_id()::text::bigint $$;

-- xmin_of, xmax_of: the transactions below the one had all ended in a snapshot; of those from the other on, none had.
create or replace function xmin_of(p_snapshot pg_snapshot) returns bigint
language sql immutable parallel safe as $$ select pg_snapshot_xmin(p_snapshot)::text::bigint $$;

create or replace function xmax_of(p_snapshot pg_snapshot) returns bigint
language sql immutable parallel safe as $$ select pg_snapshot_xmax(p_snapshot)::text::bigint $$;

create or replace function xmin_now() returns bigint
language sql stable parallel safe as $$ select pg_snapshot_xmin(pg_current_snapshot())::text::bigint $$;

create or replace function xmax_now() returns bigint
language sql stable parallel safe as $$ select pg_snapshot_xmax(pg_current_snapshot())::text::bigint $$;

-- xids_running: the transactions between the two that had not ended.
create or replace function xids_running(p_snapshot pg_snapshot) returns setof bigint
language sql immutable parallel safe as $$ select x::text::bigint from pg_snapshot_xip(p_snapshot) x $$;

-- xid_seen: whether a transaction had ended in a snapshot, or is this one.
create or replace function xid_seen(p_xid bigint, p_snapshot pg_snapshot) returns boolean
language sql immutable parallel safe as $$ select pg_visible_in_snapshot(p_xid::text::xid8, p_snapshot) $$;

-- late_from: transactions as late ones of which nothing was taken yet.
create or replace function late_from(p_xids bigint[]) returns late_place[]
language sql immutable parallel safe as $$
  select coalesce(array_agg((x, 0, 0)::late_place order by i), '{}') from unnest(p_xids) with ordinality u (x, i)
$$;

-- late_xids: the numbers of late transactions.
create or replace function late_xids(p_late late_place[]) returns bigint[]
language sql immutable parallel safe as $$ select array(select l.xid from unnest(p_late) l) $$;

-- cursor_move: which move of its lane's cursor came last. A cursor moves in place at most 64 times, then as a new row.
create or replace function cursor_move(p_seq bigint, p_uses int) returns bigint
language sql immutable parallel safe as $$ select p_seq * 128 + p_uses $$;
