-- job_answer: end the wait that a token was given out for (step_token): its job is sent the signal, with this value.
-- Counts once, until the token expires, or its job ends, or its run is rewound to before it. The token is the right,
-- and the only one: whether it was made here is seen before anything is looked for, so that a forged one tells nothing
-- of any job. Commits with the caller's transaction. p_asks: several cells are asked in turn, and one that did not make
-- the token returns null; refused, the transaction would have lost what it did there before.
-- Returns {"job", "name"}: what was told.
-- Locks: the row that says that the token was used; a second answer waits for the first to commit.
-- Writes: step, ticket. Raises: MR004; MR020 when the token is unknown, used, expired, void, or its job has ended, with
-- {"reason"} as the detail; MR019.
create or replace function job_answer(p_token text, p_value json default null, p_asks boolean default false)
  returns json
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off as $$
declare
  v_parts constant text[] := regexp_match(left(p_token, 200), '^mrt_([0-9]{1,18})_([0-9]{1,18})_([0-9a-f]{64})$');
  v_job constant bigint := v_parts[1];
  v_step constant bigint := v_parts[2];
  v_slot constant smallint := job_slot(v_job);
  s step;
begin
  perform json_check('value of a signal', p_value, bound('stepBytes'));
  -- hashed once more, so that how long the comparison takes tells nothing of how much of it is right
  if v_parts is null or sha256(token_mac(v_job, v_step)::bytea) <> sha256(v_parts[3]::bytea) then
    if p_asks then
      return null;
    end if;
    perform token_refuse('unknown', 'nobody was given this token', 'use it exactly as it was given out');
  end if;
  select * into s from step
   where slot = v_slot and job_id = v_job and key >= '#token ' and key < '#token!' and kind = 'done' and id = v_step;
  if s.id is null then
    perform days_check(v_slot),
      token_refuse('ended', 'the job of this token has ended', 'it hears nothing any more');
  elsif exists (select from step
                 where slot = v_slot and job_id = v_job and key = s.key and kind = 'got' and n = 0) then
    perform token_refuse('used', 'this token was used before', 'it counts once; ask for another one');
  elsif coalesce(s.id <@ steps_void(v_job), false) then
    perform token_refuse('void', 'the run that gave this token out was rewound', 'it has given out another one');
  elsif s.until <= clock_now() then
    perform token_refuse('expired', 'this token has expired', 'ask for another one');
  elsif job_deaf(v_job) is not null then
    perform token_refuse('ended', 'the job of this token has ended', 'it hears nothing any more');
  end if;
  insert into step (job_id, slot, key, kind, at, about) values (v_job, v_slot, s.key, 'got', clock_now(), s.key)
  on conflict do nothing;
  if not found then
    perform token_refuse('used', 'this token was used before', 'it counts once; ask for another one');
  end if;
  perform signal_append(v_slot, v_job, s.about, p_value, 'token ' || v_step), notice_append(array[v_job], 2);
  return json_build_object('job', v_job::text, 'name', s.about);
end $$;

-- token_refuse: why a token cannot be answered with. Raises: MR020.
create or replace function token_refuse(p_reason text, p_message text, p_hint text) returns void
language plpgsql as $$
begin
  perform raise_error('MR020', p_message, p_hint, json_build_object('reason', p_reason)::text);
end $$;
