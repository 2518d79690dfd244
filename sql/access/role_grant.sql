-- role_grant: let a role act as producer, worker, reader or admin. The functions run with their owner's rights, so the
-- role needs no access to tables, and no DDL rights. To be called by the owner of the schema. Raises: MR001.
create or replace function role_grant(p_role name, p_kind text) returns void
language plpgsql set search_path from current set jit = off as $$
declare
  v_reader constant text[] := '{
    job_list, job_get, job_outcomes, job_count, job_find, job_peek, queue_depth, queue_groups, queue_types,
    queue_events, job_durations, job_failures, job_progress, job_log, job_failure_of,
    settings_get, name_find, payload_read, cell_status, schedule_durations,
    schedules_undeclared, live_sample, counts_audit, lane_holders, job_of,
    steps_get, job_waited, flow_get, job_steps, job_children, job_below, waits_audit, types_unhandled, history_get,
    routes_get, moves_get, job_why, queue_why, cell_groups, cell_look, queue_home,
    tenants_here}';
  v_producer constant text[] := '{
    job_enqueue, job_enqueue_many, queue_notify, payload_append, job_cancel, job_cancel_where, schedule_put,
    audit_add, idempotent_begin, idempotent_end, job_tell, job_answer, notices_deliver, flow_enqueue,
    route_claim, queue_admit, fingerprints_hand_over, fingerprints_take_over, job_enqueue_left, fingerprint_cells,
    cell_join, tenants_place}';
  v_worker constant text[] := '{
    job_claim, job_claim_json, claim_extend, job_start, job_complete, job_fail, job_retry_later, job_release,
    job_set_visibility, job_dead_letter, job_settle, progress_put,
    log_put, maintain, lanes_rest, lanes_forget, ticket_rotate,
    groups_forget, job_rotate, control_compact, schedules_due, schedules_fire, schedules_settle, schedules_hold,
    schedules_yield, watch_keep, watch_leave, worker_beat, worker_leave, type_declare, history_sample,
    alerts_check, hook_get,
    steps_put, step_start, step_token,
    job_suspend, cell_hold}';
  v_admin constant text[] := '{
    sqs_queue_create, sqs_queue_change, sqs_queue_delete, sqs_queue_purge, sqs_queue_get, sqs_queue_list, sqs_depth,
    sqs_in_flight, sqs_secret_get, sqs_receive, sqs_delete, sqs_delete_late, sqs_visibility, sqs_visibility_many,
    sqs_move_start, sqs_move_cancel, sqs_move_list, sqs_move_step, schedule_remove, schedule_pause, schedule_resume,
    schedule_trigger, schedule_backfill, calendar_put, queue_put, type_put, cell_put, group_put, resource_put,
    queue_pause, queue_resume, queue_close, queue_open, stage_release, stage_cancel, queue_purge, queue_purge_step,
    queue_shed, queue_set_aside, queue_redrive, job_retry, failure_retry, job_replay, breaker_reset, job_discard,
    job_rewind, job_rewind_many, cell_repair, route_put, cell_live, queue_settings, queue_arrive, queue_leave,
    queue_put_left, group_put_left, queue_arrived, fingerprints_left, fingerprints_bring, schedules_leave,
    schedules_arrive, schedules_left, worker_pause, worker_drain, worker_resume, worker_concurrency,
    places_get, queue_place, queue_copy, spread_lock, jobs_left, job_carry, job_run_now,
    alert_put, alert_remove, alert_silence, hook_put, hook_remove, hook_test}';
  f record;
begin
  if p_kind not in ('producer', 'worker', 'reader', 'admin') then
    perform raise_error('MR001', format('unknown kind of role "%s"', p_kind), 'use producer, worker, reader or admin');
  end if;
  execute format('grant usage on schema %I to %I', current_schema(), p_role);
  for f in
    select p.oid::regprocedure as signature from pg_proc p
     where p.pronamespace = current_schema()::regnamespace
       and (p.proname = any (v_reader)
            or p_kind in ('producer', 'worker', 'admin') and p.proname = any (v_producer)
            or p_kind in ('worker', 'admin') and p.proname = any (v_worker)
            or p_kind = 'admin' and p.proname = any (v_admin))
  loop
    execute format('grant execute on function %s to %I', f.signature, p_role);
  end loop;
  execute format('grant select on jobs, attempts, claims, queues, pauses, stages, breakers, groups, limits, lanes,
    types, schedules, schedule_runs, schedule_events, calendars, decisions, audits, workers, definitions,
    alert_rules, alerts, alert_events, hooks, migrations to %I', p_role);
  -- the views call these with the rights of their readers
  execute format('grant execute on function clock_now(), lane_key(int, text, int, jsonb), job_created_at(bigint),
    job_place(bigint), job_slot(bigint), queue_waits(int), purge_saw(lane_purge, bigint, bigint) to %I', p_role);
end $$;
