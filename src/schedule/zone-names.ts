import { longestWord } from "../db/edit-distance.js";
import { InvalidArgumentError } from "../db/errors.js";
import { nearestNames } from "./nearest-names.js";

const checked = new Map<string, string>();

/** The name of a zone as the database of zones spells it, or an error with the names that come near. */
export function checkZone(input: unknown): string {
  if (typeof input !== "string")
    throw new InvalidArgumentError("tz is not a text", 'give the name of a zone, such as "Europe/Berlin"');
  if (input.length > longestWord)
    throw new InvalidArgumentError(
      `there is no time zone with a name of ${input.length} characters`,
      'use a name such as "Europe/Berlin" or "UTC"',
    );
  const known = checked.get(input);
  if (known !== undefined) return known;
  const names = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const spelled =
    names.find((name) => name.toLowerCase() === input.toLowerCase()) ?? (isAlias(input) ? input : undefined);
  if (spelled === undefined) {
    const near = nearestNames(input, names);
    throw new InvalidArgumentError(
      `there is no time zone ${JSON.stringify(input)}`,
      near.length > 0
        ? `did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`
        : 'use a name such as "Europe/Berlin" or "UTC"',
    );
  }
  checked.set(input, spelled); // only what exists is kept, so this stays small
  return spelled;
}

/**
 * Names that are no longer listed, but still understood, such as "US/Eastern". Fixed offsets ("+02:00") are not
 * understood by every Node we support.
 */
function isAlias(name: string): boolean {
  if (!/^[A-Za-z][\w+\-/]*$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}
