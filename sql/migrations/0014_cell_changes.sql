-- The list of cells is the sum of its changes, so that a cell can leave it, and come back (sql/cells/README.md).
alter table cell_member drop constraint cell_member_pkey;
alter table cell_member add column state text not null default 'in' check (state in ('in', 'out', 'removed'));
alter table cell_member add primary key (name, version);
alter table cell_member rename column joined_at to changed_at;
drop function if exists cell_leave(text);

-- The cell of the job that has a fingerprint, where that has ended in another one; job_id is negative then, so that it is
-- none of a job here.
alter table fingerprint add column cell text;

-- It takes one thing more.
drop function if exists enqueue_unique(job_plan, json);
