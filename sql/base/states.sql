-- Words for the states of jobs. Each is one expression that uses each argument once, so that PostgreSQL inlines it.

-- state_is_final: whether a state of the view "jobs" is one that a job ends with.
create or replace function state_is_final(p_state text) returns boolean
language sql immutable parallel safe as $$ select p_state in ('succeeded', 'failed', 'expired', 'cancelled') $$;

-- state_has_begun: whether work on a job of this state has begun and goes on, now or later.
create or replace function state_has_begun(p_state text) returns boolean
language sql immutable parallel safe as $$ select p_state in ('running', 'suspended') $$;

-- attempt_is_end: whether an attempt is the end of its job: it has a final state, and no later revival has made it void
-- (amendment.revived_after; null without an amendment). The other end on record is that of a job that waited
-- (amendment.closed_at). The view "jobs" writes this condition out: if it called a function, everybody who may read the
-- view would have to be granted that function again after an upgrade.
create or replace function attempt_is_end(p_state job_final_state, p_attempt int, p_revived_after int) returns boolean
language sql immutable parallel safe as $$ select p_state is not null and p_attempt > coalesce(p_revived_after, 0) $$;

-- is_undecided: whether a job ended without success, and nobody has retried or discarded it since.
create or replace function is_undecided(p_state text, p_discarded_at timestamptz) returns boolean
language sql immutable parallel safe as $$ select p_state in ('failed', 'expired') and p_discarded_at is null $$;

-- counts_as_ready: whether a job of this state is among those that are counted as ready (lane_depth.ready): one that is
-- blocked stands in its lane as well.
create or replace function counts_as_ready(p_state text) returns boolean
language sql immutable parallel safe as $$ select p_state in ('ready', 'blocked') $$;
