import { isWithin, shown } from "../db/check-options.js";
import { toJson } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import { bounds } from "../db/limits.js";

/** The name of a step or a signal: not empty, and without "#", by which uses of one name are numbered. */
export function stepName(name: string): string {
  if (typeof name === "string" && isWithin(name, bounds.nameLength) && !name.includes("#") && !name.includes("\0"))
    return name;
  throw new InvalidArgumentError(
    `${shown(name)} is not the name of a step`,
    `give 1 to ${bounds.nameLength} characters, without "#"`,
  );
}

/**
 * What a step gave, as JSON text and as it will be read from that: the first run sees what a later one will see. What
 * would come back as something else is refused.
 */
export function stepValue(value: unknown, name: string): { readonly json?: string; readonly value: unknown } {
  if (value === undefined) return { value };
  const what = `the value of step "${name}"`;
  checkSame(value, what, 0);
  const json = toJson(value, what, bounds.stepBytes);
  return { json, value: typeof value === "object" ? JSON.parse(json) : value };
}

function checkSame(value: unknown, path: string, depth: number): void {
  if (typeof value !== "object" || value === null || depth > bounds.jsonDepth) return; // the rest is toJson's
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain || typeof (value as { toJSON?: unknown }).toJSON === "function") {
    throw new InvalidArgumentError(
      `${path} is not JSON: ${value.constructor?.name ?? "an object of a class"} would come back as something else`,
      "give plain objects, arrays, strings, finite numbers, booleans and null",
    );
  }
  for (const [key, member] of Object.entries(value)) checkSame(member, `${path}.${key}`, depth + 1);
}
