-- maintain: all upkeep that any process may do for all, once. Safe to call from many at the same time. Returns what was
-- done. With p_every_seconds it does nothing when somebody is doing it, or did it less than that ago: so many processes
-- share one duty, and none is its leader. It waits for nobody: what somebody has locked is left for the next time. What
-- others might wait for (new lanes, jobs that become claimable) comes late. A part that fails does not keep the others
-- from being done (upkeep_do): "failed" names it, with the error. "crowded": lanes_rest has something to do, in a
-- transaction of its own; "notices": notices_deliver has; "history": history_sample has; "alerts": alerts_check has.
-- With p_space_seconds, "space": so much time has passed since space was given back, and the caller is the one to do it
-- (ticket_rotate, job_rotate, control_compact and others). Locks: queue_links when queues are closed, and the duty's
-- rows (all skipped when taken). Writes: as what it calls, and duty.
create or replace function maintain(p_every_seconds float8 default null, p_space_seconds float8 default null)
  returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now timestamptz := clock_now();
  v_done jsonb := '{"lanes": 0, "promoted": 0, "reaped": 0, "expired": 0, "folded": 0, "finished": 0}';
  v_mine boolean;
  v_closing int[];
  v_before timestamptz;
begin
  v_mine := p_every_seconds is null
    or exists (select from duty where name = 'maintain' and done_at <= v_now - seconds(p_every_seconds));
  if v_mine then
    v_closing := queues_closing();  -- before this transaction has a number
    v_before := case when pg_current_xact_id_if_assigned() is null then clock_now() end;
  end if;
  if v_mine and p_every_seconds is not null then
    perform from duty where name = 'maintain' and done_at <= v_now - seconds(p_every_seconds) for update skip locked;
    v_mine := found;
  end if;
  if not v_mine then
    return v_done;
  end if;
  update duty set done_at = v_now where name = 'maintain' and p_every_seconds is not null;
  perform cell_at_home(c.server_id) from cell c;
  v_done := upkeep_do(v_done, 'tidy');
  v_done := upkeep_do(v_done, 'expired', v_before);
  v_done := upkeep_do(v_done, 'folded');
  v_done := upkeep_do(v_done, 'fingerprints');
  v_done := upkeep_do(v_done, 'lanes');
  v_done := upkeep_do(v_done, 'promoted');
  v_done := upkeep_do(v_done, 'reaped');
  v_done := upkeep_do(v_done, 'proved');
  -- last: nothing is waited for while queues are locked
  v_done := upkeep_do(v_done, 'finished', p_closing => v_closing);
  return v_done || jsonb_build_object('notices', notices_wait(), 'space', space_due(p_space_seconds),
    'history', exists (select from duty where name = 'history' and done_at <= v_now - interval '62 seconds'),
    'alerts', exists (select from duty where name = 'alerts' and done_at <= v_now - interval '15 seconds')
      and exists (select from alert_rule where is_on),
    'crowded', exists (select from lane where rest_xid is not null and not is_asleep)
    or exists (select from queue q
                where exists (select from lane k where k.queue_id = q.id and k.rest_xid is null offset crowd_from())));
end $$;

-- space_due: whether so much time has passed since somebody was told to give space back; then the caller is told. Of
-- many processes that do upkeep by turns each would do it otherwise. The first time is when so much has passed.
create or replace function space_due(p_every_seconds float8) returns boolean
language plpgsql as $$
declare
  v_now constant timestamptz := clock_now();
begin
  if p_every_seconds is null then
    return false;
  end if;
  insert into duty (name, done_at) values ('space', v_now) on conflict do nothing;
  update duty set done_at = v_now
   where name in (select name from duty where name = 'space' and done_at <= v_now - seconds(p_every_seconds)
                     for update skip locked);
  return found;
end $$;

-- upkeep_do: one part of maintain, added to what was done so far. When it fails, nothing of it was done.
create or replace function upkeep_do(p_done jsonb, p_part text, p_before timestamptz default null,
  p_closing int[] default null) returns jsonb
language plpgsql as $$
declare
  v_n int;
begin
  case p_part
    when 'tidy' then
      update cell c set server_id = server_id()
       where c.server_id is null
         and server_id() is not null
         and c.only_row in (select only_row from cell for no key update skip locked);
      update cell set floor_xid = xid_now()
       where floor_xid < xid_now() - 10000 and only_row in (select only_row from cell for no key update skip locked);
      perform agenda_unchain(), agenda_tidy(), sheds_pass(), breakers_tidy(), schedule_events_tidy(),
        rules_fold(), children_look(), workers_tidy(), logs_tidy();
    when 'expired' then v_n := expiry_sweep_run(10000, p_before);
    when 'folded' then
      v_n := tally_fold(100000);
      perform suspended_fold();
    when 'fingerprints' then perform fingerprints_tidy(1000);
    when 'lanes' then v_n := lane_discover(null, 1000);
    when 'promoted' then v_n := agenda_promote(10000) + spares_return(null) + postponed_return();
    when 'reaped' then v_n := claim_reap(1000);
    when 'proved' then perform books_lock(), counts_prove(), suspended_prove();
    when 'finished' then v_n := queues_finish(p_closing);
  end case;
  return p_done || case when v_n is null then '{}' else jsonb_build_object(p_part, v_n) end;
exception when others then
  perform passing_check(sqlstate, sqlerrm);
  raise warning 'millrace: the part "%" of maintain failed: % (%)', p_part, sqlerrm, sqlstate;
  return p_done || jsonb_build_object('failed',
    coalesce(p_done -> 'failed', '{}') || jsonb_build_object(p_part, left(sqlerrm, 500)));
end $$;
