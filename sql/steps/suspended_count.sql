-- suspended_count: note that a job of a lane is suspended, or no longer. A trigger calls it, so that none of the dozen
-- functions that take a row out of the agenda can forget to; it is asked only for rows that wait for something. Not
-- while the agenda is written anew (table_rewrite), and not for a statement that puts in or takes out many rows, and
-- counts them by itself ("millrace.counts"): a call for each took as long as the rest of it. Writes: suspended_tally.
create or replace function suspended_count() returns trigger
language plpgsql security definer set search_path from current set jit = off as $$
begin
  if current_setting('millrace.rewriting', true) is distinct from 'on' then
    insert into suspended_tally (lane, n)
    values (case when tg_op = 'DELETE' then old.lane else new.lane end,
            case when tg_op = 'DELETE' or new.waits is null then -1 else 1 end);
  end if;
  return null;
end $$;

create or replace trigger suspended_begin after insert on agenda
  for each row when (new.waits is not null
                     and current_setting('millrace.counts', true) is distinct from 'off')
  execute function suspended_count();
create or replace trigger suspended_change after update of waits on agenda
  for each row when ((old.waits is null) <> (new.waits is null)) execute function suspended_count();
create or replace trigger suspended_end after delete on agenda
  for each row when (old.waits is not null
                     and current_setting('millrace.counts', true) is distinct from 'off')
  execute function suspended_count();

-- suspended_fold: make one row of all differences of a lane. Locks: suspended_tally rows, skipped when taken. Writes:
-- suspended_tally.
create or replace function suspended_fold(p_limit int default 100000) returns void
language plpgsql as $$
begin
  if (select count(*) > count(distinct x.lane) + 100 from (select lane from suspended_tally limit p_limit) x) then
    with gone as (
      delete from suspended_tally
       where ctid = any (array(select ctid from suspended_tally limit p_limit for update skip locked))
      returning *
    )
    insert into suspended_tally (lane, n) select lane, sum(n) from gone group by lane having sum(n) <> 0;
  end if;
end $$;

-- suspended_prove: compare the counts with the agenda, in one snapshot, and add what is missing, once an hour: those
-- who were suspended before there were counts, first of all. The caller has books_lock. Skipped while somebody else
-- looks. Writes: duty, suspended_tally.
create or replace function suspended_prove() returns void
language plpgsql as $$
begin
  insert into duty (name, done_at) values ('suspended', '-infinity') on conflict do nothing;
  update duty set done_at = clock_now()
   where name in (select name from duty
                   where name = 'suspended' and done_at < clock_now() - interval '1 hour' for update skip locked);
  if found then
    insert into suspended_tally (lane, n)
    select lane, sum(n) from (select lane, -n as n from suspended_tally
                              union all
                              select lane, 1 from agenda where waits is not null) x
     group by lane having sum(n) <> 0;
  end if;
end $$;
