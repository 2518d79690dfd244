-- They tell ready and blocked apart from now on. A function that returns another type is not replaced: it goes first,
-- and the same transaction makes it again.
drop function if exists queue_types(text);
drop function if exists queue_groups(text, int);
drop function if exists cell_groups(int);
drop function if exists jobs_live(bigint[], int);
