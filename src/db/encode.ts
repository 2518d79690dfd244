import { InvalidArgumentError } from "./errors.js";
import type { EnqueueOptions, JobId } from "./types.js";

/** JSON text of a value, refusing what JSON cannot carry unchanged instead of dropping it. */
export function toJson(value: unknown, what = "input"): string {
  if (value === undefined) return "null";
  checkJson(value, what, []);
  return JSON.stringify(value);
}

function checkJson(value: unknown, path: string, parents: readonly object[]): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw notJson(path, String(value));
    case "object":
      break;
    default:
      throw notJson(path, typeof value);
  }
  if (value === null) return;
  if (parents.includes(value)) throw notJson(path, "a cycle");
  if (parents.length > 1000) throw notJson(path, "more than 1000 levels");
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return;
  const family = [...parents, value];
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) checkJson(value[i], `${path}[${i}]`, family);
    return;
  }
  if (value instanceof Map || value instanceof Set) throw notJson(path, value.constructor.name);
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) checkJson(member, `${path}.${key}`, family);
  }
}

function notJson(path: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`${path} is not JSON: ${what}`, "give plain objects, arrays, strings, finite numbers, booleans and null");
}

const optionKeys: ReadonlySet<string> = new Set<keyof EnqueueOptions | "type">([
  "type",
  "queue",
  "priority",
  "group",
  "tenant",
  "runAt",
  "delaySeconds",
  "expiresAt",
  "ttlSeconds",
  "deadline",
  "maxAttempts",
  "attemptTimeoutSeconds",
  "retry",
  "fingerprint",
  "fingerprintMode",
  "fingerprintSeconds",
  "headers",
  "payload",
  "contentType",
  "schedule",
  "slotAt",
]);

/** Options as the SQL functions take them; refuses unknown keys with the nearest known one. */
export function encodeOptions(options: EnqueueOptions & { readonly type?: string }, payloadSize?: number): string {
  const encoded: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    if (!optionKeys.has(key)) throw unknownOption(key, optionKeys);
    if (value === undefined || key === "payload") continue;
    encoded[key] = encodeOption(key, value);
  }
  if (payloadSize !== undefined) encoded["payloadSize"] = payloadSize;
  return JSON.stringify(encoded);
}

function encodeOption(key: string, value: unknown): unknown {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new InvalidArgumentError(`${key} is not a valid date`, "give a valid Date or an ISO 8601 string");
    return value.toISOString();
  }
  if (typeof value === "string") {
    if (value.includes("\0")) throw new InvalidArgumentError(`${key} contains NUL`, "PostgreSQL text cannot hold it; use a payload for bytes");
    return value;
  }
  if (key === "maxAttempts" && value === Infinity) return "unlimited";
  if (typeof value === "number" && !Number.isFinite(value)) throw new InvalidArgumentError(`${key} cannot be ${value}`, "give a finite number");
  if (key === "headers" || key === "retry") checkJson(value, key, []);
  return value;
}

export function unknownOption(key: string, known: ReadonlySet<string>): InvalidArgumentError {
  const near = [...known].find((name) => name.toLowerCase().startsWith(key.toLowerCase().slice(0, 4)));
  return new InvalidArgumentError(`unknown option "${key}"`, near ? `did you mean "${near}"?` : `known are ${[...known].join(", ")}`);
}

/** Refuse keys an options object may not have. */
export function checkKeys(options: object, known: ReadonlySet<string>): void {
  for (const key of Object.keys(options)) if (!known.has(key)) throw unknownOption(key, known);
}

/** A bigint[] parameter. */
export function encodeIds(ids: readonly JobId[]): string {
  for (const id of ids) checkId(id);
  return `{${ids.join(",")}}`;
}

export function checkId(id: JobId): JobId {
  if (typeof id !== "string" || !/^\d{1,19}$/.test(id) || BigInt(id) > 9223372036854775807n) {
    throw new InvalidArgumentError(`"${String(id)}" is not a job id`, "ids are strings of digits");
  }
  return id;
}

export function checkToken(token: string): string {
  if (typeof token !== "string" || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(token)) {
    throw new InvalidArgumentError(`"${String(token)}" is not a lease token`, "use the token that came with the claim");
  }
  return token;
}
