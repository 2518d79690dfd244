-- The column attempt_timeout_ms of the view jobs is attempt_timeout_seconds from now on, as all other durations are told.
-- A view that is replaced keeps the names of its columns, so it goes, with the two functions that return its rows. All
-- of them are made again by the same transaction, with the other views and functions.
drop function if exists job_list;
drop function if exists job_peek;
drop view if exists jobs;
