import fc from "fast-check";
import {
  claimMembers,
  delay,
  error,
  jobMembers,
  payloadMembers,
  queueMembers,
  rule,
  scheduleMembers,
  typeMembers,
} from "./options.js";
import { type Attack, Fault, type Run } from "./run.js";
import { json, marks, mostly, name, number, some, text, time, whole } from "./values.js";

type Kind =
  | "text"
  | "json"
  | "jsonb"
  | "text[]"
  | "int"
  | "bigint"
  | "bigint[]"
  | "float8"
  | "boolean"
  | "uuid"
  | "timestamptz"
  | "uuid[]"
  | "date[]";
type Parameters = Readonly<Record<string, readonly [Kind, fc.Arbitrary<unknown>]>>;

const held = {
  p_token: ["uuid", fc.constant("@token")],
  p_jobs: ["bigint[]", fc.constant(["@id"])],
} as const satisfies Parameters;
const queue = ["text", mostly(marks.queue)] as const;
const type = ["text", mostly(marks.type)] as const;
const jobOptions = mostly(some({ ...jobMembers, ...payloadMembers }), 20);
const seconds = ["float8", delay] as const;
const lists = { p_limit: ["int", whole], p_type: type, p_queue: queue } as const satisfies Parameters;
const claims = claimMembers;
const settlement = some(
  {
    token: fc.constant("@token"),
    outcome: fc.constantFrom("succeeded", "failed", "retryLater", "released"),
    jobs: fc.array(fc.constant("@id"), { maxLength: 2 }),
    results: fc.array(json, { maxLength: 2 }),
    logs: fc.array(json, { maxLength: 2 }),
    error,
    delaySeconds: delay,
  },
  7,
);

/**
 * The functions that a role may call, with what each parameter may be. Those left out are about everybody's jobs on
 * purpose.
 */
const verbs: Readonly<Record<string, Parameters>> = {
  job_enqueue: { p_type: type, p_input: ["json", json], p_options: ["json", jobOptions] },
  job_enqueue_many: {
    p_inputs: ["json", mostly(fc.array(json, { maxLength: 3 }))],
    p_options: [
      "json",
      fc.oneof(
        some({ ...jobMembers, type: marks.type }, 8),
        fc.array(some({ ...jobMembers, type: marks.type }, 8), { maxLength: 3 }),
      ),
    ],
  },
  queue_put: { p_name: queue, p_options: ["jsonb", some(queueMembers, 4)] },
  type_put: { p_type: type, p_options: ["jsonb", some(typeMembers, 4)] },
  group_put: {
    p_queue: queue,
    p_group: ["text", name],
    p_options: ["jsonb", some({ weight: whole, maxRunning: number, rate: queueMembers.rate }, 3)],
  },
  resource_put: {
    p_name: ["text", fc.constantFrom("@r0", "@r1")],
    p_options: ["jsonb", some({ maxRunning: number, units: number, rate: queueMembers.rate }, 3)],
  },
  job_claim: {
    p_queues: ["text[]", claims.queues],
    p_types: ["text[]", claims.types],
    p_limit: ["int", whole],
    p_worker: ["text", name],
    p_lease_seconds: seconds,
    p_lease_factor: ["float8", number],
    p_lease_cap_seconds: seconds,
    p_max_bytes: ["bigint", whole],
    p_group_limit: ["int", whole],
  },
  claim_extend: { p_tokens: ["uuid[]", fc.constant(["@token"])], p_seconds: seconds },
  job_start: held,
  job_complete: {
    ...held,
    p_results: ["json", fc.array(json, { minLength: 1, maxLength: 1 })],
    p_logs: ["json", mostly(fc.array(fc.array(json, { maxLength: 3 }), { minLength: 1, maxLength: 1 }))],
  },
  job_fail: { ...held, p_error: ["json", error] },
  job_retry_later: { ...held, p_error: ["json", error], p_delay_seconds: seconds },
  job_release: { ...held, p_delay_seconds: seconds },
  job_dead_letter: { ...held, p_queue: queue, p_error: ["json", error] },
  job_set_visibility: { p_token: held.p_token, p_job: ["bigint", fc.constant("@id")], p_seconds: seconds },
  job_settle: {
    p_settlements: ["json", mostly(fc.array(settlement, { maxLength: 3 }))],
    p_claims: ["json", mostly(fc.array(some(claims), { maxLength: 2 }))],
  },
  progress_put: { p_token: held.p_token, p_job: ["bigint", fc.constant("@id")], p_value: ["json", json] },
  schedule_put: {
    p_name: ["text", fc.constantFrom("@q0", "@q1")],
    p_rule: ["jsonb", rule],
    p_job: ["jsonb", some({ ...jobMembers, type: marks.type, deadlineSeconds: delay }, 5)],
    p_input: ["json", json],
    p_options: ["jsonb", some(scheduleMembers, 3)],
    p_version: ["int", whole],
  },
  schedule_pause: { p_name: ["text", fc.constant("@q0")], p_by: ["text", text], p_because: ["text", text] },
  schedule_resume: {
    p_name: ["text", fc.constant("@q0")],
    p_by: ["text", text],
    p_catch_up: ["boolean", fc.boolean()],
  },
  schedule_trigger: { p_name: ["text", fc.constant("@q0")], p_by: ["text", text] },
  schedule_backfill: {
    p_name: ["text", fc.constant("@q0")],
    p_slots_ms: ["bigint[]", fc.array(whole, { maxLength: 3 })],
    p_concurrency: ["int", whole],
  },
  schedule_durations: { p_name: ["text", fc.constant("@q0")], p_runs: ["int", whole] },
  calendar_put: {
    p_name: ["text", name],
    p_days: [
      "date[]",
      fc.array(fc.constantFrom("2026-12-25", "9999-12-31", "infinity", "0044-03-15 BC", "x"), { maxLength: 3 }),
    ],
  },
  queue_pause: {
    p_queue: queue,
    p_by: ["text", text],
    p_because: ["text", text],
    p_type: type,
    p_group: ["text", name],
  },
  queue_resume: { p_queue: queue, p_type: type, p_group: ["text", name] },
  queue_close: { p_queue: queue, p_because: ["text", text] },
  queue_open: { p_queue: queue },
  queue_purge: { p_queue: queue },
  queue_purge_step: {
    p_queue: queue,
    p_before: ["timestamptz", time],
    p_since: ["bigint", whole],
    p_most: ["int", whole],
  },
  queue_shed: { p_queue: queue, p_before: ["timestamptz", time], p_type: type, p_group: ["text", name] },
  queue_redrive: { p_queue: queue, p_target: queue, p_limit: ["int", whole] },
  queue_depth: { p_queue: queue },
  queue_groups: { p_queue: queue, p_limit: ["int", whole] },
  queue_types: { p_queue: queue },
  stage_release: { p_queue: queue, p_stage: ["text", name], p_limit: ["int", whole] },
  stage_cancel: { p_queue: queue, p_stage: ["text", name], p_limit: ["int", whole] },
  job_cancel: { p_jobs: ["bigint[]", fc.constant(["@id"])], p_because: ["text", text] },
  job_cancel_where: { p_queue: ["text", marks.queue], p_type: type, p_tenant: ["text", name], p_limit: ["int", whole] },
  job_discard: { p_jobs: ["bigint[]", fc.constant(["@id"])], p_by: ["text", text], p_because: ["text", text] },
  job_retry: { p_attempts: ["int", whole], p_jobs: ["bigint[]", fc.constant(["@id"])], p_limit: ["int", whole] },
  job_get: { p_job: ["bigint", mostly(fc.constant("@id"))] },
  job_list: {
    ...lists,
    p_state: ["text", fc.constantFrom("failed", "ready", "x")],
    p_created_from: ["timestamptz", time],
    p_created_to: ["timestamptz", time],
    p_before: ["bigint", whole],
  },
  job_find: {
    ...lists,
    p_error: ["text", text],
    p_group: ["text", name],
    p_fingerprint: ["text", name],
    p_created_from: ["timestamptz", time],
    p_before: ["bigint", whole],
    p_seconds: ["float8", fc.constantFrom(0, 0.1, -1, "NaN", "infinity", 1e300)],
  },
  job_count: {
    p_queue: queue,
    p_type: type,
    p_tenant: ["text", name],
    p_group: ["text", name],
    p_created_from: ["timestamptz", time],
    p_created_to: ["timestamptz", time],
  },
  job_peek: { p_queue: queue, p_limit: ["int", whole] },
  job_replay: {
    p_from: ["timestamptz", time],
    p_to: ["timestamptz", time],
    p_queue: ["text", marks.queue],
    p_type: type,
  },
  job_failures: { ...lists, p_since: ["timestamptz", time], p_until: ["timestamptz", time] },
  failure_retry: {
    p_queue: ["text", marks.queue],
    p_type: type,
    p_attempts: ["int", whole],
    p_fingerprint: ["text", name],
    p_limit: ["int", whole],
    p_per_second: ["float8", number],
  },
  payload_read: {
    p_job: ["bigint", mostly(fc.constant("@id"))],
    p_offset: ["bigint", whole],
    p_length: ["int", whole],
  },
};
const often = [
  "job_enqueue",
  "job_enqueue_many",
  "queue_put",
  "type_put",
  "job_claim",
  "job_settle",
  "job_fail",
  "job_retry_later",
  "job_complete",
  "schedule_put",
];

/** A call by name, with some of its parameters; each is written as text and cast, as any client would. */
export const sqlAttack: fc.Arbitrary<Attack> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom(...often) },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(verbs)) },
  )
  .chain((verb) => {
    const members = Object.fromEntries(Object.entries(verbs[verb]!).map(([key, [, arbitrary]]) => [key, arbitrary]));
    const record = fc.record(members, { requiredKeys: Object.keys(members).slice(0, 2), noNullPrototype: true });
    return record.map((values) => ({ door: "sql" as const, verb, values }));
  });

/** Call it. What is refused must say so by a code of ours, or be no value of the parameter's type. */
export async function callSql(run: Run, { verb, values }: Attack): Promise<unknown[]> {
  const given = Object.entries(values as Record<string, unknown>);
  const kinds = verbs[verb]!;
  const list = given.map(([key], i) => `${key} => $${i + 1}::${kinds[key]![0]}`).join(", ");
  const written = given.map(([key, value]) =>
    value !== null && /^jsonb?$/.test(kinds[key]![0]) ? run.json(value) : plain(run, value),
  );
  try {
    const { rows } = await run.target.pool.query(`select * from millrace.${verb}(${list})`, written);
    run.count("sql", "accepted");
    return rows as unknown[];
  } catch (cause) {
    if (!isRefusal(cause)) throw new Fault(`SQL ${verb}`, cause);
    run.count("sql", "refused");
    return [];
  }
}

/** A value as a parameter that is not JSON. */
function plain(run: Run, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(run, item));
  const filled = run.fill(value);
  return typeof filled === "object" && filled !== null ? run.json(value) : filled;
}

/** A code of ours; or PostgreSQL could not read a parameter, or found no such function, and never began with one. */
function isRefusal(error: unknown): boolean {
  const { code = "", where = "" } = error as { code?: string; where?: string };
  return /^MR\d{3}$/.test(code) || (/^(22...|54001|42883)$/.test(code) && !/function/.test(where));
}
