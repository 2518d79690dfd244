-- sqs_secret_get: what receipt handles are signed with.
create or replace function sqs_secret_get() returns bytea
language plpgsql stable security definer set search_path from current set jit = off as $$
  begin return (select secret from sqs_secret); end
$$;
