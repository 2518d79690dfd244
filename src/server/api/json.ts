import { InvalidArgumentError } from "../../db/errors.js";
import { exactText } from "../../db/exact-json.js";
import { parseJson } from "../http/parse-json.js";

/** JSON has no Infinity; the SQL functions say "unlimited". */
export function toJsonText(value: unknown): string {
  return exactText(value, (_key, member: unknown) => (member === Infinity ? "unlimited" : member));
}

/** What somebody sent as JSON; `what` it is, and how to send it, are told when it cannot be read. */
export function fromJson(bytes: Uint8Array, what: string, remedy: string): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw new InvalidArgumentError(`${what} cannot be read as JSON: ${(error as Error).message}`, remedy);
  }
}
