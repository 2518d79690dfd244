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
  const [, kind, rest = ""] = /^(\w+) (.*)$/s.exec(object) ?? [];
  if (kind === "jobs" && rest.startsWith("{")) return filterAddress(rest);
  const name = rest.replace(/, (?:type|group|stage) .*$/s, "");
  switch (kind) {
    case "queue":
      return to(["queues", name]);
    case "schedule":
      return to(["schedules", name]);
    case "resource":
      return to(["limits"]);
    case "job":
      return /^\d+/.test(rest) ? to(["jobs", /^\d+/.exec(rest)![0]]) : undefined;
    case "failures":
      return to(["failures"]);
    default:
      return undefined;
  }
}

/** A filter that was cut off is none. */
function filterAddress(text: string): string | undefined {
  try {
    const filter = JSON.parse(text) as Record<string, unknown>;
    return to(
      ["jobs"],
      Object.fromEntries(Object.entries(filter).map(([key, value]) => [key, typeof value === "string" ? value : ""])),
    );
  } catch {
    return undefined;
  }
}

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
