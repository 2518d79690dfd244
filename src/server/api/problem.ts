import {
  MillraceError,
  QueueFullError,
  QueueNotFoundError,
  TokenRefusedError,
  missingQueue,
  translateError,
} from "../../db/errors.js";
import { clip } from "../http/clip.js";
import { BodyTooLargeError, BodyTooSlowError } from "../http/exchange.js";
import { maxDetailCharacters } from "../http/limits.js";
import { NoRoomError } from "../http/shares.js";

/**
 * What only the server refuses; everything else has the code of the engine (docs/errors.md). docs/api.md lists exactly
 * these; a test compares.
 */
export const apiErrors = {
  noToken: { code: "MR101", status: 401, title: "no valid token" },
  forbidden: { code: "MR102", status: 403, title: "the token's role does not allow it" },
  foreign: { code: "MR103", status: 403, title: "a foreign Host or Origin" },
  noRoute: { code: "MR104", status: 404, title: "no such path" },
  noMethod: { code: "MR105", status: 405, title: "the path has no such method" },
  tooLarge: { code: "MR106", status: 413, title: "the body is too large" },
  mediaType: { code: "MR107", status: 415, title: "the body is not of the right content type" },
  tooMany: { code: "MR108", status: 429, title: "too many requests" },
  keyReused: { code: "MR109", status: 409, title: "the Idempotency-Key was used for another request" },
  busy: { code: "MR110", status: 503, title: "the server has too much to do" },
  tooSlow: { code: "MR111", status: 504, title: "it took too long" },
  range: { code: "MR112", status: 416, title: "there is no such range" },
  slowBody: { code: "MR113", status: 408, title: "the body came too slowly" },
  noUser: { code: "MR114", status: 401, title: "nobody is signed in" },
} as const;

/** The server refuses a request. */
export class ApiError extends MillraceError {
  readonly status: number;
  readonly title: string;

  constructor(
    kind: keyof typeof apiErrors,
    message: string,
    remedy?: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    const { code, status, title } = apiErrors[kind];
    super(code, message, remedy);
    this.status = status;
    this.title = title;
  }
}

/** The status of what the engine refuses, by code. */
const engineProblems: Readonly<Record<string, readonly [status: number, title: string]>> = {
  MR001: [400, "a value cannot be accepted"],
  MR002: [404, "no such job"],
  MR003: [404, "no such queue"],
  MR004: [413, "the payload is too large"],
  MR005: [409, "the lease is lost"],
  MR006: [503, "the schema must be repaired"],
  MR007: [503, "the database uses another isolation level"],
  MR008: [503, "the schema does not fit"],
  MR009: [503, "the database is not available"],
  MR010: [409, "two types collide"],
  MR011: [422, "the input is not valid"],
  MR012: [504, "it took too long"],
  MR014: [409, "the queue is closed"],
  MR015: [429, "the queue is full"],
  MR016: [404, "no such schedule"],
  MR017: [409, "the job has ended"],
  MR019: [422, "more than one job may have"],
  MR020: [410, "the callback token ends no wait any more"],
  MR021: [503, "the server's own role lacks a right"],
  MR022: [404, "no such worker"],
  MR023: [409, "the cells do not fit"],
  MR024: [404, "no such rule or web hook"],
  MR030: [409, "the queue lives in another cell"],
  MR031: [409, "the fingerprint lives in another cell"],
  MR032: [409, "the queue cannot be moved"],
};

/** A callback token that nobody was given is as a path that there is not. */
const noCallback = [404, "no such callback token"] as const;

/** What a client is told of an error, as RFC 9457 wants it. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly remedy?: string;
  readonly requestId: string;
}

/** An error as an answer; undefined when it is nobody's mistake but ours. */
export function problemOf(
  thrown: unknown,
  requestId: string,
): { readonly problem: Problem; readonly headers: Readonly<Record<string, string>> } | undefined {
  const error = known(thrown);
  if (!error) return undefined;
  const [status, title] =
    error instanceof ApiError
      ? [error.status, error.title]
      : error instanceof TokenRefusedError && error.reason === "unknown"
        ? noCallback
        : (engineProblems[error.code] ?? [500, "something went wrong"]);
  const { code, remedy } = error;
  const queue = error instanceof QueueNotFoundError ? missingQueue(error.message) : undefined;
  const shownRemedy = queue === undefined ? remedy : `create it with PUT /queues/${encodeURIComponent(queue)}`;
  // The message of an error ends with its remedy, which has a member of its own here.
  const message = remedy === undefined ? error.message : error.message.slice(0, -` (${remedy})`.length);
  const detail = clip(message, maxDetailCharacters);
  const told = shownRemedy === undefined ? {} : { remedy: clip(shownRemedy, maxDetailCharacters) };
  return {
    problem: { type: `urn:millrace:${code}`, title, status, code, detail, ...told, requestId },
    headers: error instanceof ApiError ? error.headers : retryAfter(error, status),
  };
}

function known(thrown: unknown): MillraceError | undefined {
  if (thrown instanceof BodyTooLargeError)
    return new ApiError("tooLarge", thrown.message, "send less at once", { connection: "close" });
  if (thrown instanceof BodyTooSlowError)
    return new ApiError("slowBody", thrown.message, "send it in one go", { connection: "close" });
  if (thrown instanceof NoRoomError)
    return new ApiError("busy", thrown.message, "let what is in progress end, and try again", { "retry-after": "1" });
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (code === "57014") return new ApiError("tooSlow", "the database took too long", "ask for less at once");
  if (code === "55P03")
    return new ApiError(
      "tooSlow",
      "somebody else is changing the same jobs, and has not ended",
      "try again; GET /doctor tells of transactions that stay open",
    );
  const error = translateError(thrown);
  return error instanceof MillraceError ? error : undefined;
}

function retryAfter(error: MillraceError, status: number): Record<string, string> {
  if (error instanceof QueueFullError) return { "retry-after": String(Math.ceil(error.retryAfterSeconds)) };
  return status === 503 ? { "retry-after": "5" } : {};
}
