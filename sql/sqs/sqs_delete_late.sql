-- sqs_delete_late: delete messages that a token no longer holds. They are cancelled, also when somebody else has them
-- now; strict ones are left alone. Returns the ids of strict ones that still live. Locks and writes as job_cancel.
create or replace function sqs_delete_late(p_jobs bigint[], p_strict boolean) returns bigint[]
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_live bigint[] := array(select distinct id from unnest(p_jobs) id where not job_over(id));
begin
  if p_strict then
    return v_live;
  end if;
  perform job_cancel(v_live, 'deleted after its visibility timeout');
  return '{}';
end $$;
