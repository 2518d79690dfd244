/**
 * Errors are part of the API: a class, a stable `code`, and what to do next in the message.
 * Codes are the SQLSTATEs that the SQL functions raise, so psql and TypeScript speak of the same thing.
 */
export class MillraceError extends Error {
  /** Stable code, `MR001` to `MR021`; see docs/errors.md. */
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

/** MR019: more children, signals or steps than one job may have. Nothing was written. */
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

/** What the database tells programs of an error. */
function detailOf(cause: unknown): Record<string, string> {
  try {
    return JSON.parse((cause as { readonly detail?: string } | undefined)?.detail || "{}") as Record<string, string>;
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
