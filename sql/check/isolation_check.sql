-- isolation_check: refuse a transaction whose snapshot was taken before its locks: it would decide on what is no longer
-- true. Raises: MR007.
create or replace function isolation_check(p_what text) returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    perform raise_error('MR007', p_what || ' needs READ COMMITTED',
      'call it outside of a repeatable read or serializable transaction');
  end if;
end $$;

-- snapshot_check: refuse a transaction whose snapshot is older than the last time one of these tables was emptied and
-- filled again: it would find nothing in it. The catalog as the snapshot shows it names another file than the table has
-- now. The caller has opened the tables, so that none is emptied from now on. Raises: MR007.
create or replace function snapshot_check(variadic p_tables text[]) returns void
language plpgsql as $$
begin
  if exists (select from pg_class c where c.oid = any (p_tables::regclass[])
    and c.relfilenode is distinct from pg_relation_filenode(c.oid)) then
    perform raise_error('MR007', 'what this call is about was moved since this transaction took its snapshot',
      'repeat the transaction, or use READ COMMITTED; nothing was changed');
  end if;
end $$;

-- claims_check, days_check: for calls that are possible in REPEATABLE READ and SERIALIZABLE, and look at claims, or at
-- the jobs of a ring child. Raise: MR007.
create or replace function claims_check() returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from claim limit 1;
    perform snapshot_check('claim');
  end if;
end $$;

create or replace function days_check(p_slot smallint) returns void
language plpgsql as $$
declare
  n constant text := lpad(p_slot::text, 2, '0');
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from job j, attempt a, amendment m where j.slot = p_slot and a.slot = p_slot and m.slot = p_slot limit 1;
    perform snapshot_check('job_' || n, 'attempt_' || n, 'amendment_' || n);
  end if;
end $$;
