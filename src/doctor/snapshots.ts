import { bytes, duration, plural } from "./words.js";
import { type Check, type Finding, type Patient, ok, skipped, wrong } from "./check.js";

/** Nobody keeps vacuum from removing dead rows, or the server from removing its log. */
export const snapshotsCheck: Check = {
  name: "snapshots",
  needsSchema: false,
  async run(patient) {
    const findings = [
      ...(await oldSessions(patient)),
      ...(await preparedTransactions(patient)),
      ...(await replicationSlots(patient)),
    ];
    return findings.some(({ state }) => state === "wrong") ? findings : [ok("nothing holds back vacuum"), ...findings];
  },
};

/** Sessions of other databases hold back nothing of ours; a standby that sends feedback does. */
async function oldSessions({ read, maxSnapshotAgeMs }: Patient): Promise<Finding[]> {
  const sessions = await read<{
    pid: number;
    user: string;
    app: string;
    state: string;
    kind: string;
    ms: number;
    transactions: number;
  }>(
    `select pid, coalesce(usename, '') as user, coalesce(application_name, '') as app, coalesce(state, '') as state, backend_type as kind,
            extract(epoch from clock_timestamp() - coalesce(xact_start, backend_start))::float8 * 1000 as ms,
            greatest(age(backend_xmin), age(backend_xid)) as transactions
       from pg_stat_activity
      where pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
        and (datname = current_database() and backend_type = 'client backend' or backend_type = 'walsender')
        and coalesce(xact_start, backend_start) < clock_timestamp() - make_interval(secs => $1)
      order by ms desc limit 10`,
    [maxSnapshotAgeMs / 1000],
  );
  const [rights] = await read<{ all: boolean }>(
    "select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as all",
  );
  return [
    ...sessions.map(({ pid, user, app, state, kind, ms, transactions }) => {
      const who = [`process ${pid}`, user && `of ${user}`, app && `(${app})`].filter(Boolean).join(" ");
      return kind === "walsender"
        ? wrong(
            `a standby's feedback, ${who}, holds back vacuum by ${plural(transactions, "transaction")}`,
            "end long queries on the standby, or turn off hot_standby_feedback",
          )
        : wrong(
            `${who} has kept a transaction open for ${duration(ms)}, ${state}`,
            `end it there, or with select pg_terminate_backend(${pid}); set idle_in_transaction_session_timeout`,
          );
    }),
    ...(rights?.all ? [] : [skipped("sessions of other users cannot be seen: grant pg_read_all_stats to this role")]),
  ];
}

async function preparedTransactions({ read, maxSnapshotAgeMs }: Patient): Promise<Finding[]> {
  const prepared = await read<{ gid: string; ms: number }>(
    `select gid, extract(epoch from clock_timestamp() - prepared)::float8 * 1000 as ms from pg_prepared_xacts
      where database = current_database() and prepared < clock_timestamp() - make_interval(secs => $1) order by prepared limit 10`,
    [maxSnapshotAgeMs / 1000],
  );
  return prepared.map(({ gid, ms }) =>
    wrong(
      `the transaction "${gid}" was prepared ${duration(ms)} ago and never ended`,
      "commit prepared or rollback prepared it, and look after who left it",
    ),
  );
}

async function replicationSlots({ read }: Patient): Promise<Finding[]> {
  const slots = await read<{ name: string; kept: string | null }>(
    `select slot_name as name,
            case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end as kept
       from pg_replication_slots
      where not active and not temporary and coalesce(restart_lsn::text, xmin::text, catalog_xmin::text) is not null
      order by slot_name limit 10`,
  );
  return slots.map(({ name, kept }) =>
    wrong(
      `nobody reads from the replication slot "${name}"${kept === null ? "" : `, which keeps ${bytes(Math.max(0, Number(kept)))} of log`}`,
      `start its reader, or select pg_drop_replication_slot('${name}')`,
    ),
  );
}
