import { z } from "../zod.js";
import { InvalidArgumentError } from "../../db/errors.js";
import { nearestNames } from "../../schedule/nearest-names.js";

/**
 * Only the first mistake is told, so none is looked for behind it: of a list with a million of them, that takes seconds
 * and gigabytes.
 */
const firstOnly = { abortEarly: true } satisfies z.core.ParseContextInternal as z.core.ParseContext<z.core.$ZodIssue>;

/**
 * A value as its schema wants it. What is wrong is told in words, with the place, and for a name nobody knows with the
 * nearest one.
 */
export function checkValue<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const checked = schema.safeParse(value, firstOnly);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw refusal(schema, deepest(issue!), what);
}

/** Of what no branch of a union accepts, the branch that came furthest tells more than "invalid input". */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors
    .flatMap((issues) => issues.slice(0, 1))
    .map(deepest)
    .toSorted((a, b) => b.path.length - a.path.length || rank(b) - rank(a))[0];
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

const rank = (issue: z.core.$ZodIssue): number => (issue.code === "invalid_type" ? 0 : 1);

function refusal(schema: z.ZodType, issue: z.core.$ZodIssue, what: string): InvalidArgumentError {
  const place = issue.path.length === 0 ? what : issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const known = keysAt(schema, issue.path);
    const [near] = nearestNames(key, known, 1);
    return new InvalidArgumentError(
      `unknown option "${key.slice(0, 100)}"${issue.path.length === 0 ? "" : ` in ${place}`}`,
      near ? `did you mean "${near}"?` : known.length === 0 ? "leave it out" : `known are ${known.join(", ")}`,
    );
  }
  const missing =
    issue.code === "invalid_type" && issue.input === undefined && issue.message.endsWith("received undefined");
  return missing
    ? new InvalidArgumentError(`${place} is missing`, `give ${place}: ${expected(issue)}`)
    : new InvalidArgumentError(`${place} cannot be accepted: ${issue.message}`, "correct it; nothing was written");
}

const expected = (issue: z.core.$ZodIssue): string => ("expected" in issue ? String(issue.expected) : "a value");

/** The names an object may have at a place of a schema. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const step of [...path, undefined]) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodNullable || at instanceof z.ZodDefault) at = at.unwrap();
    if (step === undefined) break;
    at =
      at instanceof z.ZodArray
        ? at.element
        : at instanceof z.ZodObject
          ? (at.shape as Record<PropertyKey, unknown>)[step]
          : undefined;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}
