import { types } from "node:util";
import {
  checkChoice,
  checkList,
  checkName,
  checkNumber,
  checkObject,
  checkPayload,
  checkRetry,
  checkText,
  checkTime,
  isWithin,
  shown,
} from "./check-options.js";
import { CellError, InvalidArgumentError, MillraceError, PayloadError, TokenRefusedError } from "./errors.js";
import { exactText } from "./exact-json.js";
import { bounds } from "./limits.js";
import { type Option, namesOf, optionNamed, someSeconds } from "./option-table.js";
import { pieceBytes } from "./payload.js";
import type {
  EnqueueOptions,
  GroupOptions,
  JobError,
  JobId,
  NewJob,
  NewStep,
  ResourceOptions,
  Settlement,
} from "./types.js";

/**
 * JSON text of a value, refusing what JSON cannot carry unchanged instead of dropping it, and what is longer than
 * `most` bytes.
 */
export function toJson(value: unknown, what = "input", most = Infinity): string {
  if (value === undefined) return "null";
  const check = (withStrings: boolean): void => checkJson(value, what, 0, undefined, withStrings);
  const text = checkedText(value, what, check);
  checkSize(text, what, most);
  return text;
}

/** JSON text of a list of values, none of them longer than `most` bytes; undefined ones become null. */
export function toJsonList(values: readonly unknown[], what: string, most: number): string {
  const check = (withStrings: boolean): void => {
    for (let i = 0; i < values.length; i += 1)
      if (values[i] !== undefined) checkJson(values[i], what, 0, i, withStrings);
  };
  const text = checkedText(values, what, check);
  checkSizes(text, values, what, most);
  return text;
}

/** A character has three bytes at most, so that most texts need not be counted. */
function checkSize(text: string, what: string, most: number): void {
  if (text.length * 3 <= most) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= most) return;
  throw new PayloadError(
    `${what}: ${bytes} bytes are more than the limit of ${most}`,
    "store it elsewhere and give a reference, or use a payload",
  );
}

/** Looked at one by one only when all of them together have as many. */
function checkSizes(text: string, values: readonly unknown[], what: string, most: number): void {
  if (text.length * 3 <= most) return;
  for (const value of values) if (value !== undefined) checkSize(exactText(value) ?? "", what, most);
}

/** A value's text, after a look at the value and, if need be, at its strings. */
function checkedText(value: unknown, what: string, check: (withStrings: boolean) => void): string {
  return reading(what, () => {
    check(false);
    const text = exactText(value);
    if (mayBeBroken(text)) check(true);
    return text;
  });
}

/** What a value's own code throws, as in a getter or in toJSON, is told as our error. */
function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new InvalidArgumentError(
      `${what} is not JSON: reading it threw ${shown(error instanceof Error ? error.message : error)}`,
      remedy,
      error,
    );
  }
}

/**
 * NUL and halves of surrogate pairs are written as escapes: without any in the whole, no string needs to be looked at.
 */
function mayBeBroken(text: string): boolean {
  return text.includes("\\u0000") || text.includes("\\ud");
}

/** The path is put together only when something is wrong: this runs for every job. */
function checkJson(
  value: unknown,
  path: string,
  depth: number,
  index: number | string | undefined,
  withStrings: boolean,
): void {
  switch (typeof value) {
    case "string":
      if (withStrings) checkString(value, path, index);
      return;
    case "boolean":
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw notJson(path, index, String(value));
    case "object":
      break;
    default:
      throw notJson(path, index, typeof value);
  }
  if (value === null) return;
  const plain = (value as { toJSON?: unknown }).toJSON;
  if (typeof plain === "function") {
    const json: unknown =
      value instanceof Date && Number.isNaN(value.getTime()) ? undefined : (plain as () => unknown).call(value);
    if (json === undefined || ArrayBuffer.isView(value)) throw notJson(path, index, value.constructor.name);
    // As JSON.stringify: what toJSON gave is not asked for its own.
    if (typeof json === "object" && json !== null) checkMembers(json, path, depth, index, withStrings);
    else checkJson(json, path, depth, index, withStrings);
    return;
  }
  checkMembers(value, path, depth, index, withStrings);
}

function checkMembers(
  value: object,
  path: string,
  depth: number,
  index: number | string | undefined,
  withStrings: boolean,
): void {
  if (depth >= bounds.jsonDepth) {
    throw new InvalidArgumentError(
      `the value is not JSON: it contains itself, or has more than ${bounds.jsonDepth} levels`,
      remedy,
    );
  }
  try {
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i += 1) checkJson(value[i], "", depth + 1, i, withStrings);
    } else if (types.isBoxedPrimitive(value)) {
      checkJson(value.valueOf(), "", depth, undefined, withStrings);
    } else if (!isPlain(value) && wouldBeLost(value)) {
      throw notJson("", undefined, value.constructor.name);
    } else {
      for (const key in value) {
        const member = (value as Record<string, unknown>)[key];
        if (member === undefined) continue;
        if (withStrings) checkString(key, "", key);
        checkJson(member, "", depth + 1, key, withStrings);
      }
    }
  } catch (error) {
    throw error instanceof NotJson ? new NotJson(place(path, index) + error.path, error.what) : error;
  }
}

function checkString(text: string, path: string, index: number | string | undefined): void {
  if (text.includes("\0")) throw notJson(path, index, "NUL in a string, which PostgreSQL cannot hold");
  if (!text.isWellFormed()) throw notJson(path, index, "half a surrogate pair");
}

/** Most are, and need no closer look. */
function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Objects of a class that JSON would turn into something else, usually `{}`: an Error without its message, a Map
 * without its entries.
 */
function wouldBeLost(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // plain, without a prototype or of another realm
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false;
  return (
    value instanceof Error || types.isNativeError(value) || ArrayBuffer.isView(value) || Object.keys(value).length === 0
  );
}

const remedy = "give plain objects, arrays, strings, finite numbers, booleans and null";

class NotJson extends InvalidArgumentError {
  constructor(
    readonly path: string,
    readonly what: string,
  ) {
    super(`${path} is not JSON: ${what}`, remedy);
    this.name = "InvalidArgumentError";
  }
}

function notJson(path: string, index: number | string | undefined, what: string): NotJson {
  return new NotJson(place(path, index), what);
}

function place(path: string, index: number | string | undefined): string {
  return path + (index === undefined ? "" : typeof index === "number" ? `[${index}]` : `.${index}`);
}

const optionKeys = namesOf("job");

/** Options as the SQL functions take them; refuses unknown keys with the nearest known one. */
export function encodeOptions(options: EnqueueOptions & { readonly type?: string }, payloadSize?: number): string {
  checkPayload(options.payload);
  const encoded: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    if (!optionKeys.has(key)) throw unknownOption(key, optionKeys);
    if (value === undefined || key === "payload") continue;
    encoded[key] = encodeOption(optionNamed.get(key)!, value);
  }
  if (payloadSize !== undefined) encoded["payloadSize"] = payloadSize;
  return exactText(encoded);
}

/** Null is as good as not given, or puts a default back. */
function encodeOption({ name, kind }: Option, value: unknown): unknown {
  if (value === null) return value;
  switch (kind.is) {
    case "text":
      return kind.most === undefined ? checkText(value, name) : checkName(value, name, kind.most);
    case "time":
      return checkTime(value, name);
    case "number":
    case "integer":
      return checkNumber(value === Infinity && kind.word === "unlimited" ? kind.word : value, name, kind);
    case "choice":
      return checkChoice(value, name, kind.of);
    case "headers":
    case "resources":
      checkObject(value, name);
      break;
    case "retry":
      checkRetry(value, name);
      break;
    default: // what is left of them is the database's to judge
  }
  reading(name, () => checkJson(value, name, 0, undefined, true));
  return value;
}

/** A number of seconds from now: 0 or more. */
export function checkSeconds(what: string, seconds: number): number {
  return checkNumber(seconds, what, someSeconds) as number;
}

/** What other queues call it, and what it is here. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  maxAttempts: ["retryLimit", "retries", "maxRetries", "attempts", "retry_limit", "max_attempts"],
  retryDelay: ["backoff", "retryBackoff", "retryDelaySeconds", "retry"],
  attemptTimeout: ["timeout", "expireIn", "expireInSeconds"],
  delay: ["startAfter", "delayMs", "delaySeconds", "run_at"],
  fingerprint: ["singletonKey", "jobKey", "job_key", "jobId", "idempotencyKey", "uniqueKey", "dedupeKey"],
  queue: ["queueName", "queue_name"],
  group: ["groupKey", "groupId"],
  tx: ["txn", "trx", "transaction", "client", "db"],
};
const notes: Readonly<Record<string, string>> = { maxAttempts: ", which counts the first attempt too" };

export function unknownOption(key: string, known: ReadonlySet<string>): InvalidArgumentError {
  // `tx` is taken out of the options of a job before they are checked
  const isKnown = (name: string): boolean => known.has(name) || (name === "tx" && known.has("fingerprint"));
  const same = Object.keys(otherWords).find((name) => isKnown(name) && otherWords[name]!.includes(key));
  if (same !== undefined)
    return new InvalidArgumentError(`unknown option "${key}"`, `it is "${same}" here${notes[same] ?? ""}`);
  const near = [...known].find((name) => name.toLowerCase().startsWith(key.toLowerCase().slice(0, 4)));
  return new InvalidArgumentError(
    `unknown option "${key}"`,
    near ? `did you mean "${near}"?` : `known are ${[...known].join(", ")}`,
  );
}

/** Refuse keys an options object may not have. */
export function checkKeys(options: object, known: ReadonlySet<string>): void {
  checkObject(options, "options");
  for (const key of Object.keys(options)) if (!known.has(key)) throw unknownOption(key, known);
}

/** A bigint[] parameter. */
export function encodeIds(ids: readonly JobId[]): string {
  checkList(ids, "ids");
  for (const id of ids) checkId(id);
  return `{${ids.join(",")}}`;
}

/** A job of one of several cells: `a:123`. */
const handlePattern = /^[a-z][a-z0-9-]{0,30}:\d{1,19}$/;

/** An id, or a handle: which of both it must be, the engine knows. */
export function checkIdOrHandle(id: JobId): JobId {
  return typeof id === "string" && handlePattern.test(id) ? id : checkId(id);
}

export function checkId(id: JobId): JobId {
  if (typeof id === "string" && handlePattern.test(id))
    throw new CellError(
      `${id} is a job of one of several cells, and this is one cell`,
      "give new Millrace the list of cells; ids of one cell are digits alone",
      undefined,
      "foreign",
      id.split(":")[0],
    );
  if (typeof id !== "string" || !/^\d{1,19}$/.test(id) || (id.length === 19 && BigInt(id) > 9223372036854775807n)) {
    throw new InvalidArgumentError(`${shown(id)} is not a job id`, "ids are strings of digits");
  }
  return id;
}

/** The form of a callback token. What has another one is forged, and need not be asked about. */
const callbackTokenPattern = /^mrt_\d{1,18}_\d{1,18}_[0-9a-f]{64}$/;

/** A text that may be a callback token. Whether it is one, the database tells. */
export function checkCallbackToken(token: string): string {
  if (typeof token === "string" && callbackTokenPattern.test(token)) return token;
  throw unknownToken();
}

/** What somebody is told whose callback token was not made here. */
export function unknownToken(): TokenRefusedError {
  return new TokenRefusedError("nobody was given this token", "use it exactly as it was given out");
}

/** What it takes to report on a job, as parameters. */
export function encodeHeld(job: { readonly token: string; readonly id: JobId }): [string, JobId] {
  checkObject(job, "the job");
  return [checkToken(job.token), checkId(job.id)];
}

export function checkToken(token: string): string {
  if (typeof token !== "string" || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(token)) {
    throw new InvalidArgumentError(`${shown(token)} is not a lease token`, "use the token that came with the claim");
  }
  return token;
}

const defaultKeys = namesOf("queue", "type", "cell");

/** Defaults of a cell, a queue or a type; null removes one. */
export function encodeDefaults(defaults: object): string {
  return encodeChecked(defaults, defaultKeys);
}

/** Null puts an option back, so it is kept; a number that JSON would turn into null is refused. */
function encodeChecked(options: object, known: ReadonlySet<string>): string {
  checkKeys(options, known);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return exactText(Object.fromEntries(given.map(([key, value]) => [key, encodeOption(optionNamed.get(key)!, value)])));
}

const groupKeys = namesOf("group");
const resourceKeys = namesOf("resource");

export function encodeResourceOptions(options: ResourceOptions): string {
  return encodeChecked(options, resourceKeys);
}

export function encodeGroupOptions(options: GroupOptions): string {
  return encodeChecked(options, groupKeys);
}

export function checkType(type: string): string {
  if (typeof type !== "string" || !isWithin(type, bounds.nameLength)) {
    throw new InvalidArgumentError(
      `a job type has 1 to ${bounds.nameLength} characters`,
      'give a name such as "resize-image"',
    );
  }
  return checkText(type, "the job type");
}

export function encodeError(error: JobError | undefined): string | null {
  return error ? toJson(wellFormed(error), "error") : null;
}

/** What a handler died of must be recorded whatever its text says; what PostgreSQL cannot hold is replaced. */
function wellFormed(error: JobError): JobError {
  const clean = (value: unknown): unknown =>
    typeof value === "string" ? value.replaceAll("\0", "\uFFFD").toWellFormed() : value;
  return Object.fromEntries(Object.entries(error).map(([key, value]) => [key, clean(value)])) as unknown as JobError;
}

/** Base64 inside JSON takes six times a payload's size while it is sent, so only small ones go that way. */
export function hasLargePayload({ payload }: NewJob): boolean {
  return payload !== undefined && payload.length > pieceBytes;
}

export function encodeJob(job: NewJob): string {
  checkPayload(job.payload);
  const { input: _input, payload, ...rest } = job;
  const text = encodeOptions(
    { ...rest, type: checkType(rest.type) },
    hasLargePayload(job) ? payload?.length : undefined,
  );
  return payload && !hasLargePayload(job)
    ? `${text.slice(0, -1)},"payload":"${Buffer.from(payload).toString("base64")}"}`
    : text;
}

/** Settlements as job_settle takes them. Ids and tokens have been checked, so only what handlers made is looked at. */
export function encodeSettlements(settlements: readonly Settlement[]): string {
  return `[${settlements.map(encodeSettlement).join(",")}]`;
}

/** Steps as the SQL functions take them. Their values are JSON already. */
export function encodeSteps(steps: readonly NewStep[]): string {
  return `[${steps.map(encodeStep).join(",")}]`;
}

function encodeStep({ json, error, ...step }: NewStep): string {
  let text = JSON.stringify(step).slice(0, -1);
  if (json !== undefined) text += `,"value":${json}`;
  if (error) text += `,"error":${toJson(wellFormed(error), "error")}`;
  return `${text}}`;
}

function encodeSettlement(settlement: Settlement): string {
  const { token, outcome, jobs } = settlement;
  let text = JSON.stringify({
    token,
    outcome,
    jobs,
    delaySeconds: "delaySeconds" in settlement ? settlement.delaySeconds : undefined,
  }).slice(0, -1);
  if ("results" in settlement && settlement.results)
    text += `,"results":${toJsonList(settlement.results, "result", bounds.resultBytes)}`;
  if ("logs" in settlement && settlement.logs) text += `,"logs":${toJsonList(settlement.logs, "log", bounds.logBytes)}`;
  if ("waits" in settlement) {
    text += `,"waits":${JSON.stringify(settlement.waits)},"steps":${encodeSteps(settlement.steps ?? [])}`;
  }
  if ("error" in settlement && settlement.error) text += `,"error":${toJson(wellFormed(settlement.error), "error")}`;
  return `${text}}`;
}
