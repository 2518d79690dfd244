import type { Enqueued } from "./types/enqueue.js";

/**
 * Errors are part of the API: a class, a stable `code`, and what to do next in the message.
 * Codes are the SQLSTATEs that the SQL functions raise, so psql and TypeScript speak of the same thing.
 */
export class MillraceError extends Error {
  /** Stable code, `MR001` to `MR034`; see docs/errors.md. */
  readonly code: string;
  /** What to do about it, when there is something to do. */
  readonly remedy: string | undefined;

  constructor(code: string, message: string, remedy?: string, cause?: unknown) {
    super(remedy ? `${message} (${remedy})` : message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.remedy = remedy;
  }
}

/** MR001: a value or option that cannot be accepted. Nothing was written. */
export class InvalidArgumentError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR001", message, remedy, cause);
  }
}

/** MR002: no job has this id (or no longer, after its retention). */
export class JobNotFoundError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR002", message, remedy, cause);
  }
}

/** MR003: no queue has this name. */
export class QueueNotFoundError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR003", message, remedy, cause);
  }
}

/** MR004: a payload at or above the limit, or pieces that do not add up. */
export class PayloadError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR004", message, remedy, cause);
  }
}

/** MR005: the token no longer holds these jobs; whatever was reported on them changed nothing. */
export class LeaseLostError extends MillraceError {
  /** The jobs that are no longer held. */
  readonly jobIds: readonly string[];

  constructor(jobIds: readonly string[]) {
    super(
      "MR005",
      `the lease on job ${jobIds.join(", ")} is lost`,
      "stop working on it: it was finished, cancelled or given to another worker",
    );
    this.jobIds = jobIds;
  }
}

/** MR006: the schema was restored from another server and must be repaired first. */
export class SchemaRestoredError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR006", message, remedy, cause);
  }
}

/** MR007: a claim, cancel, change or purge inside a REPEATABLE READ or SERIALIZABLE transaction. */
export class WrongIsolationError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR007", message, remedy, cause);
  }
}

/** MR008: the schema is missing, older or newer than this release. */
export class SchemaVersionError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR008", message, remedy, cause);
  }
}

/** MR009: the database could not be reached, or went away. The call may or may not have taken effect. */
export class DatabaseUnavailableError extends MillraceError {
  constructor(
    message: string,
    cause?: unknown,
    remedy = "check that the server runs and DATABASE_URL is right, then try again",
  ) {
    super("MR009", message, remedy, cause);
  }
}

/** MR010: two job types share the hash that names their lane. */
export class LaneCollisionError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR010", message, remedy, cause);
  }
}

/** MR011: an input or result that its schema refuses. `issues` names each field. */
export class InputError extends MillraceError {
  /** What is wrong, field by field. */
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(what: string, issues: readonly { readonly path: string; readonly message: string }[]) {
    const list = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
    super("MR011", `${what} is not valid: ${list}`, "correct it; nothing was stored");
    this.issues = issues;
  }
}

/** MR012: a wait for something that did not happen in time. */
export class TimeoutError extends MillraceError {
  constructor(message: string, remedy?: string) {
    super("MR012", message, remedy);
  }
}

/** MR013: a job whose result was waited for did not succeed; `cause` is what it failed with, where that is known. */
export class JobFailedError extends MillraceError {
  /** The job that was waited for. */
  readonly jobId: string;
  /** How it ended: failed, expired or cancelled. */
  readonly state: string;

  constructor(jobId: string, state: string, message: string, cause?: unknown) {
    super("MR013", `job ${jobId} ended as ${state}: ${message}`, undefined, cause);
    this.jobId = jobId;
    this.state = state;
  }
}

/** MR014: the queue is closed, or finished: it takes no jobs. */
export class QueueClosedError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR014", message, remedy, cause);
  }
}

/**
 * MR015: a queue that accepts no more jobs for now, because too many wait, one has waited for too long, or a tenant
 * enqueues too much (`maxDepth`, `maxAgeSeconds`, `enqueueRate`). Nothing was written.
 */
export class QueueFullError extends MillraceError {
  /** After how many seconds it is worth trying again: an estimate, 1 to 60. */
  readonly retryAfterSeconds: number;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR015", message, remedy, cause);
    this.retryAfterSeconds = retryAfter((cause as { readonly detail?: string } | undefined)?.detail);
  }
}

function retryAfter(detail = "{}"): number {
  try {
    return (JSON.parse(detail) as { retryAfterSeconds?: number }).retryAfterSeconds ?? 1;
  } catch {
    return 1; // a detail that somebody on the way has rewritten
  }
}

/** MR016: there is no schedule of this name. */
export class ScheduleNotFoundError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR016", message, remedy, cause);
  }
}

/** MR017: a signal to a job that has ended. */
export class JobEndedError extends MillraceError {
  /** How it ended: succeeded, failed, expired or cancelled. */
  readonly state: string;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR017", message, remedy, cause);
    this.state = detailOf(cause)["state"] ?? "unknown";
  }
}

/** MR018: a step has failed; `cause` is what it failed with. */
export class StepFailedError extends MillraceError {
  /** The step: its name, with a number when the name was used before. */
  readonly step: string;
  /** How often it was tried. */
  readonly attempts: number;

  constructor(step: string, attempts: number, message: string, cause?: unknown) {
    super("MR018", `step "${step}" failed: ${message}`, undefined, cause);
    this.step = step;
    this.attempts = attempts;
  }
}

/**
 * MR019: more children, signals or steps than one job may have, or more bytes than its run may remember. Nothing was
 * written.
 */
export class RunLimitError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR019", message, remedy, cause);
  }
}

/** Why a callback token was refused: nobody was given it, or it ends no wait any more. */
export type TokenRefusal = "unknown" | "used" | "expired" | "void" | "ended";

/**
 * MR020: a callback token that ends no wait: forged, used, expired, void since a rewind, or of a job that has ended.
 */
export class TokenRefusedError extends MillraceError {
  /** Why it was refused. */
  readonly reason: TokenRefusal;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR020", message, remedy, cause);
    this.reason = (detailOf(cause)["reason"] as TokenRefusal | undefined) ?? "unknown";
  }
}

/** MR021: the role of the connection may not do that. Nothing was written. */
export class NotGrantedError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR021", message, remedy, cause);
  }
}

/** MR022: no process that runs workers has this id, or none of its workers this name. Nothing was written. */
export class WorkerNotFoundError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR022", message, remedy, cause);
  }
}

/** MR024: there is no rule, or no web hook, of this name. Nothing was written. */
export class AlertNotFoundError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR024", message, remedy, cause);
  }
}

/** MR030: the queue lives in another cell. Nothing was written here. */
export class QueueMovedError extends MillraceError {
  /** The queue that has moved. */
  readonly queue: string;
  /** The cell it lives in now. */
  readonly cell: string;
  /** The version of the route that says so. */
  readonly version: number;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR030", message, remedy, cause);
    const detail = detailOf(cause);
    this.queue = detail["queue"] ?? "";
    this.cell = detail["cell"] ?? "";
    this.version = Number(detail["version"] ?? 0);
  }
}

/**
 * MR031: a fingerprint of a queue that is just moving here, and that may live in the cell it comes from. Nothing was
 * written.
 */
export class FingerprintElsewhereError extends MillraceError {
  /** The queue that moves. */
  readonly queue: string;
  /** The cell that the queue comes from. */
  readonly cell: string;
  /** The fingerprints that the other cell has to be asked for. */
  readonly fingerprints: readonly string[];

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR031", message, remedy, cause);
    const detail = detailOf(cause);
    this.queue = detail["queue"] ?? "";
    this.cell = detail["cell"] ?? "";
    this.fingerprints = (detail["fingerprints"] as readonly string[] | undefined) ?? [];
  }
}

/** MR032: a queue that cannot move, or a cell that cannot be removed, as things are. Nothing was changed. */
export class MoveRefusedError extends MillraceError {
  /** Why, in one word that stays: see docs/errors.md. */
  readonly reason: string;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR032", message, remedy, cause);
    this.reason = detailOf(cause)["reason"] ?? "unknown";
  }
}

/** MR033: what a call was to be near to is no anchor, or has not one row. Roll the transaction back. */
export class AnchorError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR033", message, remedy, cause);
  }
}

/** MR034: Citus has the tables of the cell in its hands. */
export class CellDistributedError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR034", message, remedy, cause);
  }
}

/** Why a call on several cells was refused; see docs/cells.md. */
export type CellErrorReason =
  | "unknown"
  | "same"
  | "name"
  | "release"
  | "gone"
  | "foreign"
  | "across"
  | "joining"
  | "partial"
  | "partly";

/**
 * MR023: something that does not fit the cells this process has: an unknown cell, an id or a transaction of another
 * one, jobs of two cells that would have to wait for each other.
 */
export class CellError extends MillraceError {
  /** What is wrong. */
  readonly reason: CellErrorReason;
  /** The cell that it is about, where it is about one. */
  readonly cell: string | undefined;

  constructor(message: string, remedy?: string, cause?: unknown, reason?: CellErrorReason, cell?: string) {
    super("MR023", message, remedy, cause);
    const detail = detailOf(cause);
    this.reason = reason ?? (detail["reason"] as CellErrorReason | undefined) ?? "unknown";
    this.cell = cell ?? detail["cell"];
  }
}

/**
 * MR023 with the reason `partly`: jobs of several cells were given in one call, and some of these cells have failed.
 * The jobs of the others are enqueued.
 */
export class PartlyEnqueuedError extends CellError {
  /** What was enqueued, in the places of its jobs; nothing in those of jobs that were not. */
  readonly enqueued: readonly (Enqueued | undefined)[];

  constructor(enqueued: readonly (Enqueued | undefined)[], cause: unknown) {
    const missing = enqueued.filter((one) => one === undefined).length;
    super(
      `${missing} of ${enqueued.length} jobs were not enqueued: ${messageOf(cause)}`,
      "enqueue those again that have no place in enqueued; with fingerprints, all of them",
      cause,
      "partly",
    );
    this.enqueued = enqueued;
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** What the database tells programs of an error. */
function detailOf(cause: unknown): Record<string, any> {
  try {
    return JSON.parse((cause as { readonly detail?: string } | undefined)?.detail || "{}") as Record<string, any>;
  } catch {
    return {};
  }
}

const classes: Record<string, new (message: string, remedy?: string, cause?: unknown) => MillraceError> = {
  MR001: InvalidArgumentError,
  MR002: JobNotFoundError,
  MR003: QueueNotFoundError,
  MR004: PayloadError,
  MR006: SchemaRestoredError,
  MR007: WrongIsolationError,
  MR010: LaneCollisionError,
  MR014: QueueClosedError,
  MR015: QueueFullError,
  MR016: ScheduleNotFoundError,
  MR017: JobEndedError,
  MR019: RunLimitError,
  MR020: TokenRefusedError,
  MR022: WorkerNotFoundError,
  MR023: CellError,
  MR024: AlertNotFoundError,
  MR030: QueueMovedError,
  MR031: FingerprintElsewhereError,
  MR032: MoveRefusedError,
};

/** SQLSTATEs by which PostgreSQL itself refuses a value before our functions see it. */
const invalidValueStates = new Set(["22P02", "22P05", "22021", "22003", "22007", "22008", "22023", "23514"]);
const unavailableStates = /^(08|57P0|53300|3D000|28)/;
/** What is to be done where the server can be reached, and does not let us in. */
const refusedRemedies: Readonly<Record<string, string>> = {
  "28P01": "correct the user or the password in DATABASE_URL, or in the connection that was passed in",
  "28000": "correct the user in DATABASE_URL, or let it in by pg_hba.conf",
  "3D000": "create that database, or correct its name in DATABASE_URL",
  "53300": "raise max_connections of the server, or make the pools of your processes smaller",
};
const unavailableCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENOENT",
  "EHOSTUNREACH",
]);

/** Translate what the driver threw into our own errors; anything unknown is returned as it is. */
export function translateError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof MillraceError) return error;
  const { code, hint } = error as Error & { code?: string; hint?: string };
  const known = code === undefined ? undefined : classes[code];
  if (known) return new known(error.message, remedyOf(code!, error.message) ?? (hint || undefined), error);
  if (code === "42501")
    return new NotGrantedError(
      `the role of this connection lacks a right: ${error.message}`,
      "let an owner of the schema call role_grant(role, 'producer'), or 'worker', 'reader', 'admin'; again after each migration",
      error,
    );
  if (
    /Cannot use a pool after calling end|Called end on pool more than once|Client was closed and is not queryable/.test(
      error.message,
    )
  )
    return new InvalidArgumentError(
      "the connections were closed already",
      "use nothing of a Millrace after its close(), nor of a pool after its end(); make a new one",
      error,
    );
  if (/^SASL: .*client password must be a/.test(error.message))
    return new DatabaseUnavailableError(
      "the server wants a password, and none was given",
      error,
      refusedRemedies["28P01"],
    );
  if (code !== undefined && invalidValueStates.has(code))
    return new InvalidArgumentError(error.message, "correct the value", error);
  if (code === "3F000" || code === "42P01" || (code === "42883" && /^function .* does not exist/.test(error.message))) {
    return new SchemaVersionError(
      `the schema does not fit this release: ${error.message}`,
      'run "millrace migrate"',
      error,
    );
  }
  if (
    (code !== undefined && (unavailableStates.test(code) || unavailableCodes.has(code))) ||
    /Connection terminated|Query read timeout|timeout exceeded when trying to|encountered a connection error/.test(
      error.message,
    )
  ) {
    const remedy = refusedRemedies[code ?? ""];
    return remedy === undefined
      ? new DatabaseUnavailableError(`the database is not available: ${error.message}`, error)
      : new DatabaseUnavailableError(`the database refused the connection: ${error.message}`, error, remedy);
  }
  return error;
}

/** The database names its own functions; who calls from here is told the method. */
function remedyOf(code: string, message: string): string | undefined {
  const queue = code === "MR003" ? missingQueue(message) : undefined;
  return queue === undefined ? undefined : `create it with mill.queues.put(${JSON.stringify(queue)})`;
}

/** The queue that does not exist, in a message of the database. */
export function missingQueue(message: string): string | undefined {
  return /^there is no queue "(.*?)"(?: \(|$)/s.exec(message)?.[1];
}
