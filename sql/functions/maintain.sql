-- maintain: all that any process may do for all, once. Safe to call from many at the same time. Returns what was done.
create or replace function maintain() returns json
language plpgsql security definer set search_path from current as $$
declare
  v_lanes int := lane_discover();
  v_promoted int := agenda_promote(10000) + postponed_return();
  v_reaped int := claim_reap(1000);
  v_expired int := expiry_sweep_run(10000);
  v_folded int := tally_fold(100000);
  v_now timestamptz := clock_now();
begin
  update cell set floor_xid = xid_now() where floor_xid < xid_now() - 10000;
  perform fingerprint_release(array(
    select job_id from fingerprint where (until <= v_now or follow_up is not null)
       and coalesce(job_state(job_id), 'gone') in ('gone', 'succeeded', 'failed', 'expired', 'cancelled') limit 1000));
  return json_build_object('lanes', v_lanes, 'promoted', v_promoted, 'reaped', v_reaped, 'expired', v_expired, 'folded', v_folded);
end $$;
