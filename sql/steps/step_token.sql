-- step_token: a token by which somebody who has no other right ends a wait of a job that somebody works on. Answered
-- (job_answer), it sends the signal p_name, once, until p_seconds have passed. The same step gives the same token,
-- whoever does it: that it was given is written down, and the token is made of its place and the secret of the cell, so
-- that nobody reads it from a table. p_key: "#token " and the name, with a number when it is used again. Returns null
-- when p_holder does not hold the job.
-- Locks: the claim's row, shared. Writes: step. Raises: MR001, MR007.
create or replace function step_token(p_holder uuid, p_job bigint, p_key text, p_name text, p_seconds float8)
  returns text
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_slot constant smallint := job_slot(p_job);
  v_now constant timestamptz := clock_now();
begin
  perform name_check('name of a signal', coalesce(nullif(p_name, ''),
    raise_error('MR001', 'a token needs the name of a signal', 'give the name that the job waits for')));
  if p_key is null or not starts_with(p_key, '#token ') or length(p_key) > 2 * bound('nameLength') then
    perform raise_error('MR001', 'a token needs a step', 'give "#token " and the name of the signal');
  elsif p_seconds is null or not p_seconds between 1 and bound('seconds') then
    perform raise_error('MR001', format('a token cannot expire after %s seconds', coalesce(p_seconds::text, 'no')),
      format('give 1 to %s', bound('seconds')));
  end if;
  if runs_fence(array[(p_holder, p_job, null)::run_steps]) = '{}' then
    return null;
  end if;
  perform days_check(v_slot);
  insert into step (job_id, slot, key, kind, at, until, about)
  values (p_job, v_slot, p_key, 'done', v_now, v_now + seconds(p_seconds), p_name)
  on conflict do nothing;
  return (select 'mrt_' || p_job || '_' || s.id || '_' || token_mac(p_job, s.id) from step s
           where s.slot = v_slot and s.job_id = p_job and s.key = p_key and s.kind = 'done' and s.n = 0);
end $$;

-- token_mac: what proves that a token was made here: 64 hexadecimal digits. A hash of a hash, each with a key of its
-- own before what is hashed, because the usual construction needs an extension.
create or replace function token_mac(p_job bigint, p_step bigint) returns text
language sql stable as $$
  select encode(sha256(s.outer_key || sha256(s.inner_key || int8send(p_job) || int8send(p_step))), 'hex')
    from token_secret s
$$;
