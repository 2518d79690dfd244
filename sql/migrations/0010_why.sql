-- It counts what open breakers hold too, and is called jobs_blocked.
drop function if exists jobs_paused(int);
