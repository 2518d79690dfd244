/** The search line: `type:resize state:failed error:timeout`, and what it can be asked. */
import { momentFilledIn } from "../zone.js";

export interface Term {
  readonly key: string;
  readonly hint: string;
  /** Its only values. */
  readonly values?: readonly string[];
}

/** All that can be searched for; the names are those of the API. */
export const terms: readonly Term[] = [
  { key: "id", hint: "one job by its id; a number alone does too" },
  {
    key: "state",
    hint: "the state of a job",
    values: ["ready", "delayed", "running", "suspended", "blocked", "succeeded", "failed", "expired", "cancelled"],
  },
  { key: "queue", hint: "the name of its queue" },
  { key: "type", hint: "what kind of job it is" },
  { key: "tenant", hint: "whose job it is" },
  { key: "group", hint: "its fairness key" },
  { key: "key", hint: "its fingerprint" },
  { key: "error", hint: "a part of its last error" },
  { key: "failure", hint: "the kind of its last error, as the failures page has it" },
  { key: "input", hint: 'a part of its input, or what it contains: {"account":7}' },
  { key: "text", hint: "a part of a name, the input or the error; words alone do too" },
  { key: "cell", hint: "which of several cells it is in" },
  { key: "since", hint: "enqueued at or after: 2026-03-01, 2026-03-01T08:00Z, 15m, 2h, 3d" },
  { key: "until", hint: "enqueued before: the same" },
  { key: "endedSince", hint: "ended at or after: the same" },
  { key: "endedUntil", hint: "ended before: the same" },
];

export type Filter = Readonly<Record<string, string>>;

/** What a line asks for, and the words nobody understands. */
export interface Parsed {
  readonly filter: Filter;
  readonly unknown: readonly string[];
}

export function parseQuery(line: string): Parsed {
  const filter: Record<string, string> = {};
  const unknown: string[] = [];
  const words: string[] = [];
  for (const [word, key, quoted, plain] of line.matchAll(/(?:(\w+):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/g)) {
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "";
    if (!quoted && /^(?:[a-z][a-z0-9-]*:)?\d{6,}$/.test(word) && !terms.some((term) => term.key === key))
      filter["id"] = word;
    else if (key === undefined) words.push(value);
    else if (terms.some((term) => term.key === key)) filter[key] = value;
    else unknown.push(word);
  }
  if (words.length > 0) filter["text"] = [filter["text"] ?? [], words].flat().join(" ");
  return { filter, unknown };
}

export function writeQuery(filter: Filter): string {
  return terms
    .filter(({ key }) => filter[key])
    .map(
      ({ key }) =>
        `${key}:${/\s|^"/.test(filter[key]!) ? `"${filter[key]!.replaceAll(/["\\]/g, "\\$&")}"` : filter[key]}`,
    )
    .join(" ");
}

export interface Suggestion {
  /** What the line becomes. */
  readonly line: string;
  readonly shown: string;
  readonly hint: string;
}

/** How the word under the cursor could go on. `known` has names that were seen: of queues, of types. */
export function suggest(line: string, known: Readonly<Record<string, readonly string[]>>): Suggestion[] {
  const [, before = "", word = ""] = /^(.*?)(\S*)$/s.exec(line) ?? [];
  const [, key, start] = /^(\w+):(.*)$/s.exec(word) ?? [];
  if (key === undefined) {
    return terms
      .filter(({ key: term }) => term !== "cell" || known["cell"]?.length) // with one there is none to choose
      .filter((term) => term.key.startsWith(word.toLowerCase()) && !line.includes(`${term.key}:`))
      .map((term) => ({ line: `${before}${term.key}:`, shown: `${term.key}:`, hint: term.hint }));
  }
  const term = terms.find((one) => one.key === key);
  const values = term?.values ?? known[key] ?? [];
  const wanted = start!.replace(/^"/, "").toLowerCase();
  return values
    .filter((value) => value.toLowerCase().includes(wanted) && value !== start)
    .toSorted((a, b) => Number(b.toLowerCase().startsWith(wanted)) - Number(a.toLowerCase().startsWith(wanted)))
    .slice(0, 8)
    .map((value) => ({ line: `${before}${writeQuery({ [key]: value })} `, shown: value, hint: "" }));
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** `2h` is two hours before now, a day and a time are of the zone in which times are told; all else is the server's. */
export function asTime(text: string, nowMs: number): string {
  const [, amount, unit] = /^(\d+)\s*([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(nowMs - Number(amount) * units[unit!]! * 1000).toISOString();
  const [, day, time = "00:00"] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?$/.exec(text) ?? [];
  if (day !== undefined && !Number.isNaN(Date.parse(text))) return momentFilledIn(`${day}T${time}`);
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? text : new Date(parsed).toISOString();
}
