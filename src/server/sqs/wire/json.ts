import { TooDeepError, parseJson } from "../../http/parse-json.js";
import { type Source, decodeMembers, isInteger, malformed } from "./decode.js";
import { plainMembers } from "./encode.js";
import type { SqsError } from "./errors.js";
import { maxItems, maxLevels } from "./limits.js";
import type { Members } from "./model.js";

/** AWS JSON 1.0: the body is the input, and the answer's body the output. */
export const jsonType = "application/x-amz-json-1.0";

/** Read an input. `queueUrl` stands in when the body has none. */
export function decodeJson(body: Buffer, members: Members, queueUrl: string | undefined): Record<string, unknown> {
  const value = parse(body);
  source.structure(value);
  if (queueUrl !== undefined) (value as Record<string, unknown>)["QueueUrl"] ??= queueUrl;
  return decodeMembers(source, value, members);
}

/** Write an output; an action without one answers nothing at all. */
export function encodeJson(output: unknown, members: Members | undefined): string {
  return members ? JSON.stringify(plainMembers(output, members, "object")) : "";
}

/** Write an error. */
export function encodeJsonError(error: SqsError): string {
  return JSON.stringify({ __type: error.qualifiedType, message: error.message });
}

function parse(body: Buffer): unknown {
  if (body.length === 0) return {};
  try {
    return parseJson(body, maxLevels);
  } catch (error) {
    throw malformed(
      error instanceof TooDeepError ? `The body has more than ${maxLevels} levels` : "The body is not JSON in UTF-8",
    );
  }
}

const names = { string: "a String", integer: "an Integer", boolean: "a Boolean" } as const;

const source: Source<unknown> = {
  member: (node, name) =>
    Object.hasOwn(node as object, name) ? ((node as Record<string, unknown>)[name] ?? undefined) : undefined,
  items(node) {
    if (!Array.isArray(node)) throw malformed("Expected list or null");
    refuseLonger(node.length);
    return node.filter((item) => item !== null).map((item: unknown, index) => [String(index + 1), item]);
  },
  entries(node) {
    if (!isObject(node)) throw malformed("Expected map or null");
    const keys = Object.keys(node);
    refuseLonger(keys.length);
    return keys.map((key, index) => [String(index + 1), key, node[key] ?? undefined]);
  },
  structure(node) {
    if (!isObject(node)) throw malformed("Expected structure or null");
  },
  scalar(node, kind) {
    if (kind === "integer" ? isInteger(node) : typeof node === kind) return node as string | number | boolean;
    if (typeof node === "object")
      throw malformed(`Start of ${Array.isArray(node) ? "list" : "structure or map"} found where not expected.`);
    throw malformed(`${tokenOf(node)} can not be converted to ${names[kind]}`);
  },
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseLonger(length: number): void {
  if (length > maxItems) throw malformed(`A list or map can not have more than ${maxItems} items`);
}

function tokenOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "TRUE_VALUE" : "FALSE_VALUE";
  if (typeof value === "number") return Number.isInteger(value) ? "NUMBER_VALUE" : "DECIMAL_VALUE";
  return "STRING_VALUE";
}
