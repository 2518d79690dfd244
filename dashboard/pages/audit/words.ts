/** What the audit says, as people say it. */
import { to } from "../../router.js";
import type { AuditEntry, Json } from "../../wire.js";

const methods: Readonly<Record<string, string>> = { PUT: "set", DELETE: "remove", POST: "make" };

/** `POST /queues/{queue}/pause` is `pause queue`, `PUT /queues/{queue}/groups/{group}` is `set group`. */
export function actText(action: string): string {
  const [method = "", path = ""] = action.split(" ");
  const parts = path.split("/").filter(Boolean);
  const last = parts.at(-1) ?? "";
  if (last.startsWith("{")) return `${methods[method] ?? method} ${one(parts.at(-2) ?? "")}`;
  const noun = parts.at(-2) ?? "";
  if (noun === "") return `${methods[method] ?? method} ${last}`;
  return `${last.replaceAll("-", " ")} ${noun.startsWith("{") ? one(parts.at(-3) ?? "") : noun}`;
}

const one = (nouns: string): string => nouns.replace(/s$/, "");

/** Where what it was done to is shown, when it has a page. */
export function objectAddress(object: string): string | undefined {
  if (/^(?:alert rule|web hook) /.test(object)) return to(["alerts"]);
  if (/^(?:workers$|worker |process )/.test(object)) return to(["workers"]);
  const [, kind, rest = ""] = /^(\w+) (.*)$/s.exec(object) ?? [];
  if (kind === "jobs" && rest.startsWith("{")) return filterAddress(rest);
  const name = rest.replace(/, (?:type|group|stage) .*$/s, "");
  switch (kind) {
    case "queue":
      return to(["queues", name]);
    case "schedule":
      return to(["schedules", name]);
    case "resource":
    case "breakers":
      return to(["limits"]);
    case "job":
      return jobAddress(/^(?:[a-z][a-z0-9-]*:)?\d+/.exec(rest)?.[0]);
    case "failures":
      return failuresAddress(rest);
    default:
      return undefined;
  }
}

const jobAddress = (id: string | undefined): string | undefined => id && to(["jobs", id]);

/** Jobs that were chosen one by one, each with its address; undefined when it was done to something else. */
export function chosenJobs(
  object: string,
): { readonly head: string; readonly jobs: readonly (readonly [id: string, address: string])[] } | undefined {
  const [, head, ids] = /^(\d+ jobs: )(.*)$/s.exec(object) ?? [];
  if (head === undefined) return undefined;
  // where the list was cut off, its last id was too
  const whole = ids!.split(", ").filter((id) => /^(?:[a-z][a-z0-9-]*:)?\d+$/.test(id));
  return { head, jobs: whole.map((id) => [id, to(["jobs", id])] as const) };
}

/** A kind of failure, as the page of failures has it; without one, what failed of a queue or a type. */
function failuresAddress(text: string): string | undefined {
  const filter = parsed(text);
  const { fingerprint, queue, type } = (filter ?? {}) as Partial<Record<string, string>>;
  if (fingerprint) return to(["jobs"], { state: "failed", failure: fingerprint, ...texts({ queue, type }) });
  return to(["failures"]);
}

/** A filter that was cut off is none. */
function filterAddress(text: string): string | undefined {
  const filter = parsed(text);
  return filter && to(["jobs"], texts(filter));
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

const texts = (filter: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(filter).filter((one): one is [string, string] => typeof one[1] === "string"));

/** What it has changed: each setting as it was, and as it is. */
export function changesOf({ before, after }: AuditEntry): readonly (readonly [string, string, string])[] {
  const settings = (value: Json | undefined) =>
    (typeof value === "object" && value !== null ? value : {}) as Record<string, Json>;
  const [was, is] = [settings(before), settings(after)];
  const text = (value: Json | undefined): string =>
    value === undefined || value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value);
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].map((key) => [key, text(was[key]), text(is[key])]);
}

/** Entries of one act that was done in steps, as one: the newest of them, with all jobs. */
export interface Told extends AuditEntry {
  readonly steps: number;
}

export function inOne(entries: readonly AuditEntry[]): readonly Told[] {
  const told: Told[] = [];
  for (const entry of entries) {
    const last = told.at(-1);
    const isSame =
      last &&
      entry.count !== null &&
      last.count !== null &&
      (["who", "action", "object", "result", "because"] as const).every((key) => last[key] === entry[key]);
    if (isSame)
      told[told.length - 1] = { ...last, count: (last.count ?? 0) + (entry.count ?? 0), steps: last.steps + 1 };
    else told.push({ ...entry, steps: 1 });
  }
  return told;
}
