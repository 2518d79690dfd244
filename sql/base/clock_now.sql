-- clock_now: the one source of time. Tests replace it to move the clock; nothing else reads a clock.
create or replace function clock_now() returns timestamptz
language sql volatile as $$ select clock_timestamp() $$;
