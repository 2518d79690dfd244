-- rule_changed: something that claims go by was changed by this transaction: options, a pause, a lane. What was learned
-- about lanes before it holds no longer once it commits (express_lane). Triggers call it, so that nobody can forget to.
-- Writes: rule_change.
create or replace function rule_changed() returns trigger
language plpgsql security definer set search_path from current set jit = off as $$
begin
  insert into rule_change (xid, n) values (xid_now(), xid_now()) on conflict (xid) do nothing;
  return null;
end $$;

create or replace trigger rule_changed after insert or update or delete on queue
  for each row execute function rule_changed();
create or replace trigger rule_changed after insert or update or delete on job_type
  for each row execute function rule_changed();
create or replace trigger rule_changed after update of options, server_id on cell
  for each row execute function rule_changed();
create or replace trigger rule_changed after insert or update or delete on pause
  for each row execute function rule_changed();
create or replace trigger rule_changed after insert or update or delete on lane
  for each row execute function rule_changed();
create or replace trigger rule_changed after insert or delete on aside
  for each row execute function rule_changed();
create or replace trigger rule_changed after insert on lane_purge
  for each row when (new.is_open) execute function rule_changed();

-- rules_epoch: how often what claims go by has changed, as this snapshot sees it. A sum, because transactions commit in
-- another order than they were numbered in.
create or replace function rules_epoch() returns numeric
language sql stable as $$ select sum(n) from rule_change $$;

-- rules_fold: add up old changes; the sum stays as it is. Writes: rule_change.
create or replace function rules_fold() returns void
language plpgsql as $$
begin
  if (select count(*) from rule_change) > 20 then
    with gone as (
      delete from rule_change where xid = any (array(
        select xid from rule_change where xid < xmin_now() for update skip locked)) returning n)
    insert into rule_change as c (xid, n) select -xid_now(), sum(n) from gone having count(*) > 0
    on conflict (xid) do update set n = c.n + excluded.n;
    delete from express_lane where epoch <> rules_epoch();
  end if;
end $$;

-- rules_restore: after numbers of another server, which may come again here: what was learned is void, and the epoch
-- goes on from where it was. Writes: rule_change, express_lane.
create or replace function rules_restore() returns void
language plpgsql as $$
begin
  delete from express_lane;
  with gone as (delete from rule_change returning n)
  insert into rule_change (xid, n) select 0, sum(n) from gone;
end $$;
