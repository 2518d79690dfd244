import type {
  AlertEvent,
  AlertRecord,
  AlertRuleRecord,
  SilenceRecord,
  HookRecord,
  AttemptRecord,
  AuditRecord,
  BreakerRecord,
  ChildRecord,
  ClaimedJob,
  DecisionRecord,
  Enqueued,
  FailureGroup,
  JobDetails,
  JobId,
  HistoryPoint,
  JobRecord,
  JobStep,
  JobWaits,
  Json,
  LiveSample,
  PauseRecord,
  QueueEvent,
  QueueRecord,
  RunStats,
  RunningJob,
  StageRecord,
  DefinitionRecord,
  DeclaredWorker,
  ProcessRecord,
  UnhandledType,
  WorkerOrder,
  WorkerRecord,
} from "./types.js";

/** A claim as job_claim_json returns it: columns instead of rows, so that neither side builds an object per field. */
export interface ClaimColumns {
  readonly token: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly claimedAt: string;
  readonly leaseEndsAt: string;
  readonly fence?: number;
  readonly alone?: true;
  readonly maxAttempts: number | readonly number[];
  readonly attempts?: readonly number[];
  readonly ids: readonly JobId[];
  readonly extras?: readonly (Record<string, unknown> | null)[];
  readonly inputs: readonly Json[];
}

/** What was claimed, and why it may be less than there is. */
export interface Claimed {
  readonly jobs: ClaimedJob[];
  /** What comes next did not fit: too many bytes, or a job that is claimed alone. */
  readonly more: boolean;
  /** Lanes that may have more were in somebody else's hands. */
  readonly busy: boolean;
  /** Something was at its limit, such as `maxRunning`. */
  readonly limited: boolean;
  /** When a rate allows for more. */
  readonly waitSeconds?: number;
}

export function decodeClaims(claims: readonly (ClaimColumns | Omit<Claimed, "jobs">)[]): Claimed {
  const last = claims.at(-1);
  if (!last || !("busy" in last))
    return { jobs: (claims as readonly ClaimColumns[]).flatMap(decodeClaim), more: false, busy: false, limited: false };
  return { ...last, jobs: (claims.slice(0, -1) as ClaimColumns[]).flatMap(decodeClaim) };
}

function decodeClaim(claim: ClaimColumns): ClaimedJob[] {
  const claimedAt = toDate(claim.claimedAt);
  const leaseEndsAt = toDate(claim.leaseEndsAt);
  const { token, queue, type, priority, alone = false, fence, attempts, maxAttempts, inputs, extras } = claim;
  return claim.ids.map((id, i) => {
    const job: ClaimedJob = {
      id,
      token,
      queue,
      type,
      priority,
      attempt: attempts?.[i] ?? 1,
      maxAttempts: decodeMaxAttempts(typeof maxAttempts === "number" ? maxAttempts : (maxAttempts[i] ?? 0)),
      input: inputs[i] ?? null,
      createdAt: createdAt(id),
      claimedAt,
      leaseEndsAt,
      alone,
    };
    if (fence !== undefined) Object.assign(job, { fence });
    return extras?.[i] ? Object.assign(job, decodeExtras(extras[i])) : job;
  });
}

function decodeExtras(extras: Record<string, unknown>): Partial<ClaimedJob> {
  const { deadline, slotAt, payload, ...rest } = extras as { deadline?: string; slotAt?: string; payload?: string };
  return {
    ...rest,
    ...(deadline === undefined ? {} : { deadline: toDate(deadline) }),
    ...(slotAt === undefined ? {} : { slotAt: toDate(slotAt) }),
    ...(payload === undefined ? {} : { payload: new Uint8Array(Buffer.from(payload, "base64")) }),
  };
}

const epochMs = Date.UTC(2020, 0, 1);

/** The time inside a job's id. */
export function createdAt(id: JobId): Date {
  return new Date(Math.floor(Number(BigInt(id) >> 12n) / 1000) + epochMs);
}

const unlimited = 2_147_483_647;
const decodeMaxAttempts = (max: number): number => (max === unlimited ? Infinity : max);

type Row = Readonly<Record<string, unknown>>;
export const asDate = (value: unknown): Date | null =>
  value === null || value === undefined ? null : toDate(value as string | Date);

const outermostMs = 8.64e15;

/**
 * PostgreSQL knows times that JavaScript does not, and infinity: they become the last or the first Date there is, with
 * which one can reckon.
 */
function toDate(value: string | number | Date): Date {
  const date = new Date(value);
  if (!Number.isNaN(date.getTime())) return date;
  return new Date(/^-|BC$/.test(String(value)) ? -outermostMs : outermostMs);
}

/** What an enqueue of many answered; no list of duplicates when there is none. */
export function decodeEnqueued(row: Row | undefined): Enqueued[] {
  const ids = (row?.["job_ids"] ?? []) as unknown[];
  const duplicates = row?.["duplicates"] as boolean[] | null;
  return ids.map((id, i) => ({ id: String(id), duplicate: duplicates?.[i] ?? false }));
}

export function decodeJob(row: Row): JobRecord {
  return {
    id: String(row["id_text"] ?? row["id"]),
    queue: row["queue"],
    type: row["type"],
    state: row["state"],
    reason: row["reason"],
    priority: row["priority"],
    group: row["group"],
    tenant: row["tenant"],
    attempts: row["attempts"],
    maxAttempts: decodeMaxAttempts(row["max_attempts"] as number),
    createdAt: asDate(row["created_at"]),
    updatedAt: asDate(row["updated_at"]),
    runAt: asDate(row["run_at"]),
    expiresAt: asDate(row["expires_at"]),
    deadline: asDate(row["deadline"]),
    lastAttemptAt: asDate(row["last_attempt_at"]),
    finishedAt: asDate(row["finished_at"]),
    worker: row["worker"],
    leaseEndsAt: asDate(row["lease_ends_at"]),
    leaseEnded: row["lease_ended"],
    discardedAt: asDate(row["discarded_at"]),
    lastError: row["last_error"],
    result: row["result"],
    attemptTimeoutSeconds: row["attempt_timeout_seconds"] === null ? null : Number(row["attempt_timeout_seconds"]),
    retry: row["retry"],
    fingerprint: row["fingerprint"],
    schedule: row["schedule"],
    scheduleSlot: asDate(row["schedule_slot"]),
    source: row["source"],
    headers: row["headers"],
    input: row["input"],
    payloadSize: row["payload_size"],
    contentType: row["content_type"],
    stage: row["stage"],
    cost: row["cost"],
    parent: row["parent_text"] ?? null,
    waits: decodeWaits(row["waits"] as Row | null | undefined),
    suspendedAt: asDate(row["suspended_at"]),
    resources: row["resources"] ?? null,
  } as JobRecord;
}

function decodeWaits(waits: Row | null | undefined): JobWaits | null {
  if (!waits) return null;
  const { left, of } = (waits["children"] ?? { left: {}, of: {} }) as Record<
    "left" | "of",
    Record<string, number | null>
  >;
  return {
    steps: waits["steps"] as string[],
    until: asDate(waits["until"]),
    signals: (waits["signals"] as string[]).toSorted(),
    children: Object.keys(of)
      .toSorted()
      .map((step) => ({ step, left: left[step] ?? null, of: of[step]! })),
    after: (waits["after"] ?? null) as JobWaits["after"],
  };
}

export function decodeJobStep(row: Row): JobStep {
  return {
    id: row["id_text"],
    key: row["key"],
    kind: row["kind"],
    n: row["n_text"],
    at: asDate(row["at"]),
    until: asDate(row["until"]),
    seconds: row["seconds"],
    tries: row["tries"],
    about: row["about"],
    other: row["other_text"],
    children: row["children"],
    value: row["value"],
    valueBytes: row["value_bytes"],
    error: row["error"],
  } as JobStep;
}

export function decodeChild(row: Row): ChildRecord {
  return {
    id: row["id_text"],
    step: row["step"],
    queue: row["queue"],
    type: row["type"],
    state: row["state"],
    createdAt: asDate(row["created_at"]),
    finishedAt: asDate(row["finished_at"]),
    detached: row["detached"],
  } as ChildRecord;
}

export function decodeQueue(row: Row): QueueRecord {
  return {
    name: row["name"],
    state: row["state"],
    options: row["options"],
    pausedAt: asDate(row["paused_at"]),
    pausedBy: row["paused_by"],
    pausedBecause: row["paused_because"],
    createdAt: asDate(row["created_at"]),
    waiting: Number(row["waiting"]),
    ready: Number(row["ready"]),
    blocked: Number(row["blocked"]),
    delayed: Number(row["delayed"]),
    running: Number(row["running"]),
    staged: Number(row["staged"]),
    suspended: Number(row["suspended"]),
    waitsFor: row["waits_for"] ?? [],
    closedAt: asDate(row["closed_at"]),
    closedBy: row["closed_by"],
    closedBecause: row["closed_because"],
    finishedAt: asDate(row["finished_at"]),
  } as QueueRecord;
}

export function decodePause(row: Row): PauseRecord {
  return {
    queue: row["queue"],
    type: row["type"],
    group: row["group"],
    pausedAt: asDate(row["paused_at"]),
    pausedBy: row["paused_by"],
    pausedBecause: row["paused_because"],
    jobId: row["job_id"],
  } as PauseRecord;
}

export function decodeStage(row: Row): StageRecord {
  return {
    queue: row["queue"],
    stage: row["stage"],
    jobs: Number(row["jobs"]),
    since: asDate(row["since"]),
  } as StageRecord;
}

/** As queue_events puts it into JSON; what is not known is left out there. */
export function decodeQueueEvent({ at, job, ...rest }: Row): QueueEvent {
  return { at: asDate(at), ...rest, ...(job === undefined ? {} : { jobId: job }) } as QueueEvent;
}

function decodeAttempt(row: Row): AttemptRecord {
  return {
    jobId: String(row["job_id"]),
    attempt: row["attempt"],
    outcome: row["outcome"],
    finalState: row["final_state"],
    reason: row["reason"],
    worker: row["worker"],
    startedAt: asDate(row["started_at"]),
    finishedAt: asDate(row["finished_at"]),
    error: row["error"],
    result: row["result"],
    log: row["log"],
  } as AttemptRecord;
}

export function decodeRunStats(row: Row): RunStats {
  return {
    type: row["type"],
    windowSeconds: row["window_seconds"],
    runs: Number(row["runs"]),
    succeeded: Number(row["succeeded"]),
    failed: Number(row["failed"]),
    totalSeconds: row["total_seconds"],
    averageSeconds: row["average_seconds"],
    lastSeconds: row["last_seconds"],
    lastFinishedAt: asDate(row["last_finished_at"]),
  } as RunStats;
}

export function decodeFailureGroup(row: Row): FailureGroup {
  return {
    fingerprint: row["fingerprint"],
    name: row["name"],
    code: row["code"],
    message: row["message"],
    jobs: row["jobs"],
    firstAt: asDate(row["first_at"]),
    lastAt: asDate(row["last_at"]),
    types: row["types"],
    queues: row["queues"],
    lastJobId: row["last_job_id"],
  } as FailureGroup;
}

export function decodeBreaker(row: Row): BreakerRecord {
  return {
    queue: row["queue"],
    type: row["type"],
    state: row["state"],
    failures: row["failures"],
    opensAt: row["opens_at"],
    openedAt: asDate(row["opened_at"]),
    openUntil: asDate(row["open_until"]),
    pauseSeconds: row["pause_seconds"],
    failedAt: asDate(row["failed_at"]),
    lastError: row["last_error"],
  } as BreakerRecord;
}

export function decodeDecision(row: Row): DecisionRecord {
  return {
    jobId: String(row["job_id"]),
    action: row["action"],
    attempts: row["attempts"],
    decidedAt: asDate(row["decided_at"]),
    by: row["decided_by"],
    because: row["because"],
  } as DecisionRecord;
}

export function decodeDetails(id: JobId, value: { job: Row; attempts: readonly Row[]; progress: Json }): JobDetails {
  return {
    job: decodeJob({ ...value.job, id }),
    attempts: value.attempts.map((row) => decodeAttempt({ ...row, job_id: id })),
    progress: value.progress,
  };
}

export function decodeRunning(row: Row): RunningJob {
  return {
    id: row["id_text"],
    queue: row["queue"],
    type: row["type"],
    priority: row["priority"],
    attempt: row["attempt"],
    worker: row["worker"],
    startedAt: asDate(row["started_at"]),
    elapsedSeconds: Math.max(0, Number(row["elapsed_seconds"])),
    leaseEndsAt: asDate(row["lease_ends_at"]),
    isStarted: row["started"],
    progress: row["progress"],
  } as RunningJob;
}

export function decodeWorker(row: Row): WorkerRecord {
  return {
    name: row["worker"],
    held: Number(row["held"]),
    running: Number(row["running"]),
    types: row["types"],
    queues: row["queues"],
    since: asDate(row["since"]),
  } as WorkerRecord;
}

export function decodeDefinition(row: Row): DefinitionRecord {
  return {
    type: row["type"],
    version: row["version"],
    queue: row["queue"],
    defaults: row["defaults"],
    inputSchema: row["input_schema"],
    declaredBy: row["declared_by"],
    declaredAt: asDate(row["declared_at"]),
  } as DefinitionRecord;
}

/** One worker alone runs what its process runs. */
const workersOf = (workers: readonly DeclaredWorker[], running: number): readonly DeclaredWorker[] =>
  workers.length === 1 ? [{ ...workers[0]!, running }] : workers;

export function decodeProcess(row: Row): ProcessRecord {
  return {
    id: row["id"],
    host: row["host"],
    pid: row["pid"],
    release: row["release"],
    workers: workersOf(row["workers"] as DeclaredWorker[], row["running"] as number),
    state: row["state"],
    running: row["running"],
    memoryBytes: Number(row["memory_bytes"]),
    stalledSeconds: row["stalled_seconds"],
    orders: ((row["orders"] ?? []) as WorkerOrder[]).map((order) => ({ ...order, at: asDate(order.at)! })),
    startedAt: asDate(row["started_at"]),
    seenAt: asDate(row["seen_at"]),
    expectedAt: asDate(row["expected_at"]),
  } as ProcessRecord;
}

export function decodeAlert(row: Row): AlertRecord {
  return {
    rule: row["rule"],
    kind: row["kind"],
    subject: row["subject"],
    state: row["state"],
    since: asDate(row["since"]),
    firedAt: asDate(row["fired_at"]) ?? null,
    value: row["value"],
    message: row["message"],
    silenced: row["silenced"],
  } as AlertRecord;
}

export function decodeAlertRule(row: Row): AlertRuleRecord {
  return {
    name: row["name"],
    kind: row["kind"],
    options: row["options"],
    forSeconds: row["for_seconds"],
    hooks: row["hooks"],
    on: row["is_on"],
    putBy: row["put_by"],
    putAt: asDate(row["put_at"]),
    silencedUntil: asDate(row["silenced_until"]) ?? null,
    silencedBy: row["silenced_by"],
    silencedBecause: row["silenced_because"],
    remindSeconds: row["remind_seconds"],
    silences: ((row["silences"] ?? []) as SilenceRecord[]).map((one) => ({ ...one, until: asDate(one.until)! })),
  } as AlertRuleRecord;
}

export function decodeAlertEvent(row: Row): AlertEvent {
  const { at, event, rule, subject, value, message, by } = row;
  return { id: row["id_text"], at: asDate(at), event, rule, subject, value, message, by } as AlertEvent;
}

export function decodeHook(row: Row): HookRecord {
  return {
    name: row["name"],
    origin: row["origin"],
    putBy: row["put_by"],
    putAt: asDate(row["put_at"]),
    rules: row["rules"],
    senders: row["senders"],
  } as HookRecord;
}

export function decodeHistory(row: Row): HistoryPoint {
  return {
    at: asDate(row["at"]),
    stepSeconds: row["step_seconds"],
    enqueued: row["enqueued"],
    finished: row["finished"],
    runs: row["runs"],
    failed: row["failed"],
    waiting: row["waiting"],
    running: row["running"],
    oldestReadySeconds: row["oldest_seconds"],
    waitP50Seconds: row["wait_p50"],
    waitP95Seconds: row["wait_p95"],
    runP50Seconds: row["run_p50"],
    runP95Seconds: row["run_p95"],
    kinds: row["kinds"],
  } as HistoryPoint;
}

export function decodeUnhandled(row: Row): UnhandledType {
  return {
    queue: row["queue"],
    type: row["type"],
    waiting: Number(row["waiting"]),
    oldestReadyAt: asDate(row["oldest_ready_at"]) ?? null,
    oldestAgeSeconds: row["oldest_age_seconds"],
  } as UnhandledType;
}

export function decodeAudit(row: Row): AuditRecord {
  return {
    id: row["id_text"],
    at: asDate(row["at"]),
    who: row["who"],
    action: row["action"],
    object: row["object"],
    result: row["result"],
    count: row["count"] === null ? null : Number(row["count"]),
    address: row["address"],
    requestId: row["request_id"],
    because: row["because"],
    before: row["before"],
    after: row["after"],
  } as AuditRecord;
}

export function decodeSample(value: Row): LiveSample {
  const queues = ((value["queues"] ?? []) as Row[]).map((queue) => ({
    ...queue,
    oldestReadyAt: asDate(queue["oldestReadyAt"]),
  }));
  return {
    ...value,
    now: asDate(value["now"]),
    from: asDate(value["from"]),
    to: asDate(value["to"]),
    queues,
  } as unknown as LiveSample;
}
