-- Why something was done, and what it was before and after: of settings, those that changed (audit_add).
alter table audit add column because text, add column before json, add column after json;

-- The newest lines that running jobs have logged, for whoever follows them (log_put). What a job has logged until its
-- end stands with its attempt; a row whose claim has gone is nobody's, and is taken away (logs_tidy).
create table running_log (
  job_id     bigint primary key,
  token      uuid not null,
  lines      json not null,
  updated_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
