-- maintain: all that any process may do for all, once. Safe to call from many at the same time. Returns what was done.
create or replace function maintain() returns json
language plpgsql security definer set search_path from current as $$
declare
  v_lanes int := lane_discover();
  v_promoted int := agenda_promote(10000);
  v_reaped int := claim_reap(1000);
  v_expired int := expiry_sweep_run(10000);
  v_folded int := tally_fold(100000);
begin
  update cell set floor_xid = xid_now() where floor_xid < xid_now() - 10000;
  delete from fingerprint where until <= clock_now() and (job_state(job_id) is null or job_state(job_id) in ('succeeded', 'failed', 'expired', 'cancelled'));
  return json_build_object('lanes', v_lanes, 'promoted', v_promoted, 'reaped', v_reaped, 'expired', v_expired, 'folded', v_folded);
end $$;

-- maintain_space: the rarer part: give space back. Takes table locks for moments, so each piece is its own call.
create or replace function maintain_space(p_compact_bound bigint default 20000) returns json
language plpgsql security definer set search_path from current as $$
begin
  return json_build_object('ticketChildren', ticket_rotate(), 'jobChildren', job_rotate(), 'compacted', control_compact(p_compact_bound));
end $$;
