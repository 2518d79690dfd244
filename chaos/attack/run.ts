import type { Engine, Millrace } from "millrace";
import type pg from "pg";

/** What is attacked. */
export interface Target {
  /** Connections for plain SQL, with nothing on their search path. */
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly mill: Millrace;
  /** The server's API, and a token for each role. */
  readonly apiUrl: string;
  readonly tokens: Readonly<Record<Role, string>>;
  /** A server that takes any SQS key; may be the same one. */
  readonly sqsUrl: string;
  /** What the servers blamed themselves for so far. */
  readonly complaints: readonly string[];
  /** Move the database's clock. */
  moveClock(seconds: number): Promise<void>;
}

export type Role = "producer" | "worker" | "reader" | "admin";

/** One call, as data: what is sent, and through which door. */
export interface Attack {
  readonly door: "sql" | "library" | "api" | "sqs";
  readonly verb: string;
  readonly values: unknown;
}

/** A call that did harm, or was answered in a way that nobody promised. */
export class Fault extends Error {
  constructor(what: string, cause?: unknown) {
    const { message, code = "", where = "" } = (cause ?? {}) as { message?: string; code?: string; where?: string };
    super(cause === undefined ? what : `${what}: ${code} ${message?.slice(0, 600)} ${where}`, { cause });
    this.name = "Fault";
  }
}

/** What the counts of a door say. */
export interface Tally {
  accepted: number;
  refused: number;
}

let runs = 0;

/** One run of the property: it has queues and types of its own, so that it fails again when it is repeated alone. */
export class Run {
  readonly target: Target;
  readonly #suffix = `${process.pid.toString(36)}-${(runs += 1).toString(36)}`;
  /** A job that is held, once there is one. */
  held: { readonly id: string; readonly token: string } = { id: "1", token: "00000000-0000-0000-0000-000000000000" };
  readonly tallies: Map<Attack["door"], Tally>;

  constructor(target: Target, tallies: Map<Attack["door"], Tally>) {
    this.target = target;
    this.tallies = tallies;
  }

  get queues(): string[] {
    return ["@q0", "@q1", "@q2"].map((mark) => this.#name(mark));
  }

  get types(): string[] {
    return ["@t0", "@t1"].map((mark) => this.#name(mark));
  }

  count(door: Attack["door"], what: keyof Tally): void {
    const tally = this.tallies.get(door) ?? { accepted: 0, refused: 0 };
    tally[what] += 1;
    this.tallies.set(door, tally);
  }

  /** A value with the real thing in place of each mark. */
  fill(value: unknown): unknown {
    if (typeof value === "string") return this.#fillText(value);
    if (Array.isArray(value)) return value.map((item) => this.fill(item));
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    const filled = Object.entries(value).map(([key, item]): [string, unknown] => [
      String(this.#fillText(key, true)),
      this.fill(item),
    ]);
    return Object.fromEntries(filled);
  }

  /** The same as JSON text, where numbers and depths can be what JavaScript cannot hold. */
  json(value: unknown): string {
    const unfilled = JSON.stringify(value) ?? "null";
    return unfilled
      .replaceAll(/"@raw:([^"]*)"(?!:)/g, "$1")
      .replaceAll(/"@deep:(\d+)"(?!:)/g, (_, levels: string) => "[".repeat(Number(levels)) + "]".repeat(Number(levels)))
      .replaceAll(/@long:(\d+)/g, (_, length: string) => "x".repeat(Number(length)))
      .replaceAll(/@[qtr]\d/g, (mark) => this.#name(mark))
      .replaceAll("@id", this.held.id)
      .replaceAll("@token", this.held.token);
  }

  #fillText(text: string, isKey = false): unknown {
    if (!text.startsWith("@")) return text;
    if (/^@[qtr]\d$/.test(text)) return this.#name(text);
    if (text === "@id") return this.held.id;
    if (text === "@token") return this.held.token;
    const [kind, rest = ""] = text.split(":");
    if (kind === "@long") return "x".repeat(Number(rest));
    if (isKey) return text;
    if (kind === "@raw") return Number(rest);
    if (kind === "@deep") return nested(Number(rest));
    return text;
  }

  #name(mark: string): string {
    return `${mark.slice(1)}-${this.#suffix}`;
  }
}

function nested(levels: number): unknown {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level += 1) value = [value];
  return value;
}
