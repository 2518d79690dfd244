import { reasonCodes } from "../../db/types/why.js";
import { z } from "../zod.js";

/** Shapes of what goes in and out, as JSON. Those with an id appear under that name in the OpenAPI document. */
export const jsonValue = z.unknown().meta({ description: "any JSON value" });
export const time = z.iso.datetime({ offset: true }).meta({ description: "ISO 8601" });
export const jobId = z
  .string()
  // the first wrong one of a list is the last that is looked at
  .regex(/^(?:[a-z][a-z0-9-]{0,30}:)?\d{1,19}$/, {
    error: "a job's id is a string of digits, after its cell where there are several",
    abort: true,
  })
  .meta({ description: "64 bits, as a string of digits; of several cells, after the name of its cell: a:123" });
/** What a request gives as a time becomes a Date. */
export const timeInput = z.iso
  .datetime({ offset: true, error: "give an ISO 8601 time such as 2026-03-01T08:00:00Z" })
  .transform((text) => new Date(text));
export const limitOf = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual);
/** Seconds up to now, separated by commas: 60,3600. */
export const windows = z
  .string()
  .regex(/^\d{1,9}(,\d{1,9}){0,99}$/, "give 1 to 100 numbers of seconds, separated by commas")
  .transform((text) => text.split(",").map(Number));
export const flag = z.enum(["true", "false"]).transform((text) => text === "true");
const text = z.string();
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();
const count = z.number().int();

/** Which of several cells something is in. With one, no answer has it. */
const cell = text.optional().meta({ description: "with several cells: the one it is in, or those" });
export const inCell = { cell };
/** The only cell that is asked. */
export const cellFilter = z.string().optional().meta({ description: "with several cells: what is in this one, only" });
export const missingCells = z
  .array(z.strictObject({ cell: text, because: text }))
  .optional()
  .meta({ description: "with several cells: those that did not answer, and are left out" });

export const jobStates = [
  "delayed",
  "ready",
  "running",
  "suspended",
  "blocked",
  "succeeded",
  "failed",
  "expired",
  "cancelled",
] as const;
export const jobState = z.enum(jobStates);
const unlimited = z.union([z.number(), z.literal("unlimited")]);

export const jobWaits = z
  .strictObject({
    steps: z.array(text),
    until: maybe(time),
    signals: z.array(text).meta({ description: "each of them would do" }),
    children: z.array(z.strictObject({ step: text, left: maybe(count), of: count })),
    after: maybe(z.strictObject({ left: count, of: count, when: z.enum(["succeeded", "failed", "ended"]) })),
  })
  .meta({ id: "Waits", description: "what a suspended job waits for; the first that comes lets it go on" });

export const jobRecord = z
  .strictObject({
    id: jobId,
    queue: text,
    type: text,
    state: jobState,
    reason: maybe(z.enum(["permanent", "exhausted", "lost", "purged"])),
    priority: count,
    group: maybe(text),
    tenant: maybe(text),
    attempts: count,
    maxAttempts: unlimited,
    createdAt: time,
    updatedAt: time,
    runAt: time,
    expiresAt: maybe(time),
    deadline: maybe(time),
    lastAttemptAt: maybe(time),
    finishedAt: maybe(time),
    worker: maybe(text),
    leaseEndsAt: maybe(time),
    leaseEnded: z.boolean(),
    discardedAt: maybe(time),
    lastError: maybe(z.looseObject({})),
    result: jsonValue,
    attemptTimeoutSeconds: maybe(z.number()),
    retry: jsonValue,
    fingerprint: maybe(text),
    schedule: maybe(text),
    scheduleSlot: maybe(time),
    source: jsonValue,
    headers: jsonValue,
    input: jsonValue,
    payloadSize: maybe(count),
    contentType: maybe(text),
    stage: maybe(text),
    cost: count,
    parent: maybe(jobId),
    waits: maybe(jobWaits),
    suspendedAt: maybe(time),
    resources: maybe(z.record(text, z.number())).meta({ description: "what it needs while it runs, so much of each" }),
    cell,
  })
  .meta({ id: "Job" });

export const jobStep = z
  .strictObject({
    id: text.meta({ description: "rises with time" }),
    key: text,
    kind: z.enum(["done", "try", "due", "got", "started", "ended", "signal", "rewind"]),
    n: maybe(text).meta({ description: "which try, child or signal it is" }),
    at: time,
    until: maybe(time),
    seconds: maybe(z.number()),
    tries: maybe(count),
    about: maybe(text),
    other: maybe(jobId).meta({ description: "the child that has ended" }),
    children: maybe(count).meta({ description: "how many were started" }),
    value: jsonValue,
    valueBytes: maybe(count),
    error: jsonValue,
  })
  .meta({ id: "Step" });

export const childRecord = z
  .strictObject({
    id: jobId,
    step: text,
    queue: maybe(text),
    type: maybe(text),
    state: maybe(jobState).meta({ description: "null: it is not there any more" }),
    createdAt: maybe(time),
    finishedAt: maybe(time),
    detached: z.boolean(),
  })
  .meta({ id: "Child" });

export const attemptRecord = z
  .strictObject({
    jobId,
    attempt: count,
    outcome: z.enum(["succeeded", "failed", "lost", "expired", "cancelled"]),
    finalState: maybe(jobState),
    reason: maybe(text),
    worker: maybe(text),
    startedAt: time,
    finishedAt: time,
    error: jsonValue,
    result: jsonValue,
    log: maybe(z.array(z.unknown())),
  })
  .meta({ id: "Attempt" });

export const decisionRecord = z
  .strictObject({
    jobId,
    action: z.enum(["retry", "discard", "cancel"]),
    attempts: maybe(count),
    decidedAt: time,
    by: maybe(text),
    because: maybe(text),
  })
  .meta({ id: "Decision" });

export const queueState = z.enum(["active", "paused", "waiting", "closed", "finished", "moved"]);

export const pauseRecord = z
  .strictObject({
    queue: text,
    type: maybe(text),
    group: maybe(text),
    pausedAt: time,
    pausedBy: maybe(text),
    pausedBecause: maybe(text),
    jobId: maybe(jobId),
    cell,
  })
  .meta({ id: "Pause" });

export const depth = z
  .strictObject({
    ready: count,
    blocked: count,
    delayed: count,
    running: count,
    staged: count,
    oldestReadyAt: maybe(time),
    oldestAgeSeconds: maybe(z.number()),
  })
  .meta({ id: "Depth" });

/** Why something waits. */
export const reason = z
  .looseObject({
    code: z.enum(reasonCodes).meta({ description: "docs/queue-states.md says what each has besides" }),
    text: text.meta({ description: "the same in words" }),
    jobs: count.optional(),
    isExact: z.boolean().optional().meta({ description: "false: there are more jobs" }),
  })
  .meta({ id: "Reason" });

const queueFields = {
  name: text,
  state: queueState,
  options: jsonValue,
  pausedAt: maybe(time),
  pausedBy: maybe(text),
  pausedBecause: maybe(text),
  createdAt: time,
  waiting: count.meta({ description: "ready and blocked together" }),
  ready: count,
  blocked: count,
  delayed: count,
  running: count,
  staged: count,
  suspended: count,
  waitsFor: z.array(text),
  closedAt: maybe(time),
  closedBy: maybe(text),
  closedBecause: maybe(text),
  finishedAt: maybe(time),
  oldestReadySeconds: maybe(z.number()),
  in: maybe(z.number()),
  out: maybe(z.number()),
  failed: maybe(z.number()),
  pauses: z.array(pauseRecord),
  cell,
};
export const queueRecord = z.strictObject(queueFields).meta({ id: "Queue" });
export const queueDetails = z.strictObject({ ...queueFields, depth }).meta({ id: "QueueDetails" });

export const rate = z
  .strictObject({ perSecond: z.number().positive(), burst: z.number().min(1).optional() })
  .meta({ id: "Rate" });

/** What is measured of a queue, or of all of them. */
const measured = {
  ready: count,
  blocked: count,
  delayed: count.meta({ description: "without suspended ones" }),
  suspended: count,
  running: count,
  oldestReadySeconds: maybe(z.number()),
  in: maybe(z.number()),
  out: maybe(z.number()),
  failed: maybe(z.number()),
};
const liveQueue = z.strictObject({ queue: text, state: queueState, ...measured, cell }).meta({ id: "LiveQueue" });

export const overview = z
  .strictObject({
    at: time,
    queues: count,
    ready: count,
    blocked: count,
    delayed: count.meta({ description: "without suspended ones" }),
    suspended: count,
    running: count,
    failedLastHour: count.meta({
      description: "how often jobs failed for good, whatever was decided on them since",
    }),
    failedLastHourIsExact: z.boolean().meta({ description: "false: at least so often" }),
    oldestReadySeconds: maybe(z.number()),
    rates: z.strictObject({
      enqueuedPerSecond: maybe(z.number()),
      finishedPerSecond: maybe(z.number()),
      failedPerSecond: maybe(z.number()),
    }),
    latency: z.strictObject({ p50: maybe(z.number()), p95: maybe(z.number()) }),
    workers: count.meta({ description: "of processes whose heartbeat is not late, idle ones too" }),
    holders: count.meta({ description: "who holds jobs, by the names of their claims" }),
    warnings: count.meta({ description: "what the doctor found wrong" }),
    alerts: count.meta({ description: "those that fire and are not silenced" }),
    missing: missingCells,
  })
  .meta({ id: "Overview" });

export const moment = z.strictObject({ overview, queues: z.array(liveQueue) }).meta({ id: "Moment" });

export const point = z
  .strictObject({
    at: time,
    ...measured,
    waiting: maybe(count).meta({ description: "ready and blocked together" }),
    ready: maybe(count).meta({ description: "by the second only, as are the next three" }),
    blocked: maybe(count),
    delayed: maybe(count).meta({ description: "without suspended ones" }),
    suspended: maybe(count),
    running: maybe(count),
    p50: maybe(z.number()).meta({ description: "how long jobs had waited for their first attempt" }),
    p95: maybe(z.number()),
    runP50: maybe(z.number()).optional().meta({ description: "how long attempts took; by the minute and the hour" }),
    runP95: maybe(z.number()).optional(),
    kinds: maybe(z.record(text, count)).optional().meta({ description: "failures by kind, likewise" }),
  })
  .meta({ id: "Point" });

export const runningJob = z
  .strictObject({
    id: jobId,
    queue: text,
    type: text,
    priority: count,
    attempt: count,
    worker: maybe(text),
    startedAt: time,
    elapsedSeconds: z.number(),
    leaseEndsAt: time,
    isStarted: z.boolean(),
    progress: jsonValue,
    cell,
  })
  .meta({ id: "RunningJob" });

export const processRecord = z
  .strictObject({
    id: text,
    host: text,
    pid: z.number().int(),
    release: maybe(text),
    workers: z.array(
      z.strictObject({
        name: text,
        queues: z.array(text),
        types: maybe(z.array(text)).meta({ description: "null when there are too many to tell" }),
        concurrency: count,
        running: count.optional().meta({ description: "handlers that run" }),
        held: z
          .enum(["paused", "draining", "drained"])
          .optional()
          .meta({ description: "it takes no jobs, as it was ordered" }),
      }),
    ),
    orders: z
      .array(
        z.strictObject({
          process: maybe(text),
          worker: maybe(text),
          hold: maybe(z.enum(["pause", "drain"])),
          concurrency: maybe(count),
          at: time,
          by: maybe(text),
          because: maybe(text),
        }),
      )
      .meta({ description: "what its workers were ordered to do, the closest order first" }),
    state: z.enum(["idle", "busy", "stalled", "lost"]),
    running: count.meta({ description: "handlers that run, of all its workers" }),
    memoryBytes: count,
    stalledSeconds: z.number(),
    startedAt: time,
    seenAt: time,
    expectedAt: time,
    cell,
  })
  .meta({ id: "Process" });

export const definitionRecord = z
  .strictObject({
    type: text,
    version: count,
    queue: maybe(text),
    defaults: z.record(text, z.unknown()).meta({ description: "options of an enqueue, in seconds" }),
    inputSchema: z.unknown().meta({ description: "JSON Schema of the input; null when nobody knows one" }),
    declaredBy: maybe(text),
    declaredAt: time,
  })
  .meta({ id: "Definition" });

export const unhandledType = z
  .strictObject({
    queue: text,
    type: text,
    waiting: count,
    oldestReadyAt: maybe(time),
    oldestAgeSeconds: maybe(z.number()),
    cell,
  })
  .meta({ id: "UnhandledType" });

export const workerRecord = z
  .strictObject({
    name: maybe(text),
    host: maybe(text),
    held: count,
    running: count,
    types: z.array(text),
    queues: z.array(text),
    since: time,
    cell,
  })
  .meta({ id: "Worker" });

export const problem = z
  .strictObject({
    type: text,
    title: text,
    status: count,
    code: text,
    detail: text,
    remedy: text.optional(),
    requestId: text,
  })
  .meta({ id: "Problem" });

export const enqueued = z.strictObject({ id: jobId, duplicate: z.boolean() }).meta({ id: "Enqueued" });

/** A list, with where to go on when there may be more. */
export const listOf = <Schema extends z.ZodType>(item: Schema) =>
  z.strictObject({ items: z.array(item), next: text.optional() });
export const done = z.strictObject({ done: z.boolean() });
/** How many jobs were touched; with `dryRun`, how many would be. */
export const counted = z
  .strictObject({ count, isExact: z.boolean().meta({ description: "false: at least so many" }) })
  .meta({ id: "Counted" });
export const batched = z
  .strictObject({
    count,
    isExact: z.boolean().meta({ description: "false: there are more" }),
    next: z.looseObject({}).optional().meta({ description: "the body of the request that continues" }),
  })
  .meta({ id: "Batched" });
export const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: "touch nothing, and answer how many it would be" });
export const because = z.string().max(1000).optional().meta({ description: "kept on record" });
