-- bound: the most that a value may be, wherever it comes from: SQL, HTTP, SQS, the library or the command line. The one
-- table of limits; docs/security.md says why each is what it is, src/db/limits.ts has the same numbers for those who
-- can refuse earlier, and a test compares the three. A call with a constant is itself a constant in every plan.
create or replace function bound(p_name text) returns bigint
language sql immutable parallel safe as $$
  select case p_name
    when 'seconds' then 1000000000        -- 31 years: delays, leases, times to live
    when 'nameLength' then 200            -- types, groups, tenants, stages, workers, content types
    -- levels of objects and lists; PostgreSQL's own readers give up at some thousands
    when 'jsonDepth' then 500
    when 'inputBytes' then 16777216       -- of the JSON text; more belongs into a payload
    when 'headersBytes' then 4194304
    when 'resultBytes' then 16777216
    when 'progressBytes' then 1048576
    when 'logBytes' then 1048576
    when 'errorBytes' then 262144         -- what is longer is cut, never refused: a failure must be told
    when 'stepBytes' then 1048576         -- the value of a step or a signal
    when 'runSteps' then 100000           -- records that a run writes of its steps
    when 'runBytes' then 67108864         -- of all that a run remembers, as it is read each time it goes on
    when 'children' then 100000           -- of one step, or jobs added to a flow at once
    when 'edges' then 1000                -- jobs that one job of a flow waits for
    when 'signals' then 1000              -- of one name, sent to one job that has not taken them yet
    when 'signalsEver' then 10000         -- of one name, sent to one job
    when 'optionsBytes' then 1048576      -- of a queue, a type, the cell, a resource or a schedule
  end
$$;

-- time_first, time_last: the times that a caller may name: what JavaScript, JSON and every client can hold.
create or replace function time_first() returns timestamptz
language sql immutable parallel safe as $$ select timestamptz '1970-01-01 00:00:00+00' $$;
create or replace function time_last() returns timestamptz
language sql immutable parallel safe as $$ select timestamptz '9999-12-31 23:59:59.999+00' $$;

-- seconds: a length of time that can be added to any time a caller may name, whatever number it is made of: what is too
-- long or not a number is cut to the longest, what is negative to none.
create or replace function seconds(p_seconds float8) returns interval
-- not strict, so that it is inlined
language sql immutable parallel safe as $$
  select case when p_seconds is not null then make_interval(secs => greatest(0, least(p_seconds, bound('seconds')))) end
$$;

-- limit_check: at most so many, null for all. Raises: MR001 for fewer than none.
create or replace function limit_check(p_limit int) returns void
language plpgsql immutable as $$
begin
  if p_limit < 0 then
    perform raise_error('MR001', format('a limit of %s is not possible', p_limit), 'give 0 or more');
  end if;
end $$;
