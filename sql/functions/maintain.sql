-- maintain: all that any process may do for all, once. Safe to call from many at the same time. Returns what was done.
-- With p_every_seconds it does nothing when anybody is doing it, or did less than that ago: so many processes share one duty, and none is its leader.
-- It waits for nobody: whatever is in somebody's hands is left for the next time.
-- Locks: queue_links when queues are closed, and the duty's row (both skipped when taken). Writes: as what it calls, and duty.
create or replace function maintain(p_every_seconds float8 default null) returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_now timestamptz := clock_now();
  v_lanes int := 0;
  v_promoted int := 0;
  v_reaped int := 0;
  v_expired int := 0;
  v_folded int := 0;
  v_mine boolean;
  v_closing int[];
  v_before timestamptz;
  v_finished int := 0;
begin
  v_mine := p_every_seconds is null or exists (select from duty where name = 'maintain' and done_at <= v_now - make_interval(secs => p_every_seconds));
  if v_mine then
    v_closing := queues_closing();  -- before this transaction has a number
    v_before := case when pg_current_xact_id_if_assigned() is null then clock_now() end;
  end if;
  if v_mine and p_every_seconds is not null then
    perform from duty where name = 'maintain' and done_at <= v_now - make_interval(secs => p_every_seconds) for update skip locked;
    v_mine := found;
  end if;
  if v_mine then
    update duty set done_at = v_now where name = 'maintain' and p_every_seconds is not null;
    perform cell_at_home();
    update cell c set server_id = server_id() where c.server_id is null and server_id() is not null and c.only_row in (select only_row from cell for no key update skip locked);
    v_lanes := lane_discover();
    perform agenda_unchain(), agenda_tidy(), sheds_pass();
    v_expired := expiry_sweep_run(10000, v_before);
    v_folded := tally_fold(100000);
    perform breakers_tidy(), schedule_events_tidy();
    update cell set floor_xid = xid_now() where floor_xid < xid_now() - 10000 and only_row in (select only_row from cell for no key update skip locked);
    perform fingerprint_release(array(
      select job_id from fingerprint where (until <= v_now or follow_up is not null) and job_over(job_id) limit 1000));
    -- Late: until this transaction has ended, nobody can claim what becomes claimable here.
    v_promoted := agenda_promote(10000) + postponed_return();
    v_reaped := claim_reap(1000);
    perform books_lock();
    perform counts_prove();
    v_finished := queues_finish(v_closing);  -- last: nothing is waited for while queues are locked
  end if;
  return json_build_object('lanes', v_lanes, 'promoted', v_promoted, 'reaped', v_reaped, 'expired', v_expired, 'folded', v_folded, 'finished', v_finished);
end $$;
