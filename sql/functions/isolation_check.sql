-- isolation_check: refuse a transaction whose snapshot was taken before its locks: it would decide on what is no longer true. Raises: MR007.
create or replace function isolation_check(p_what text) returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    perform raise_error('MR007', p_what || ' needs READ COMMITTED', 'call it outside of a repeatable read or serializable transaction');
  end if;
end $$;
