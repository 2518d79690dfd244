import { bounds } from "./limits.js";

/**
 * The one table of options: of jobs, and of what cells, queues and types set for them, of groups and of resources. From
 * it come the checks here (`check-options.ts`), the names the library and the API know, and, by
 * `scripts/generate-options.mjs`, `sql/check/option_table.sql` and the tables of docs/options.md. The interfaces that
 * people read (`EnqueueOptions`, `Defaults`, `JobOptions` …) are written by hand; test/options compares them.
 */

/** What may have an option. */
export type Scope = "job" | "queue" | "type" | "cell" | "group" | "resource";

/** Kinds that have a check of their own, here and in SQL. */
export type OwnKind =
  | "bytes"
  | "headers"
  | "resources"
  | "retry"
  | "errorRules"
  | "breaker"
  | "rate"
  | "names"
  | "calendar";

/** The most there is: a number, or the name of a bound. */
export type Most = number | keyof typeof bounds;

/** What a value is. */
export type Kind =
  /** A text of 1 to so many characters; of any length where what it names is looked up. */
  | { readonly is: "text"; readonly most?: Most }
  | { readonly is: "time" }
  /** Both ends included. A word may stand for a number, perhaps for jobs only. */
  | {
      readonly is: "number" | "integer";
      readonly least: number;
      readonly most: Most;
      readonly word?: string;
      readonly isWordOfJobs?: true;
    }
  | { readonly is: "choice"; readonly of: readonly (string | boolean)[] }
  | { readonly is: OwnKind };

/** One option. */
export interface Option {
  readonly name: string;
  /** What may have it. */
  readonly of: readonly Scope[];
  readonly kind: Kind;
  /** As docs tell it. */
  readonly default: string;
  readonly doc: string;
  /** The same where it is told as an option of a queue and not of a job, when that is not the same. */
  readonly asDefault?: { readonly default: string; readonly doc: string };
  /**
   * Its name in `mill.enqueue`, `defineJob`, `mill.queues.put` and others, where lengths of time are durations; the
   * same, when it has none.
   */
  readonly library?: string;
  /** Whether `defineJob` takes it. */
  readonly isDefinable?: true;
  /** Whether a job that a schedule makes may not have it. */
  readonly isTimed?: true;
  /** Who may give it: SQL only, or also `Engine`; everybody, when it says nothing. */
  readonly door?: "sql" | "engine";
}

const aName = { is: "text", most: "nameLength" } as const;
const aTime = { is: "time" } as const;
export const someSeconds = { is: "number", least: 0, most: "seconds" } as const;
const seconds = { is: "number", least: 0.001, most: "seconds" } as const;
const aCount = { is: "integer", least: 1, most: 1_000_000_000 } as const;
const everywhere = ["job", "queue", "type", "cell"] as const;

export const optionTable = [
  {
    name: "type",
    of: ["job"],
    kind: aName,
    door: "engine",
    default: "needed",
    doc: "what kind of job it is; an argument of its own everywhere but in `job_enqueue_many`",
  },
  {
    name: "queue",
    of: ["job"],
    kind: { is: "text" },
    isDefinable: true,
    default: "`default`",
    doc: "must exist; `queue_put` creates it",
  },
  {
    name: "priority",
    of: everywhere,
    kind: { is: "integer", least: 0, most: 10 },
    isDefinable: true,
    default: "5",
    doc: "lower is more urgent; FIFO within one priority of one type",
  },
  {
    name: "group",
    of: ["job"],
    kind: aName,
    default: "none",
    doc: "jobs of one group take turns with those of others: see [fairness.md](fairness.md)",
  },
  {
    name: "cost",
    of: everywhere,
    kind: { is: "integer", least: 1, most: 1_000_000 },
    isDefinable: true,
    default: "1",
    doc: "how much of its group's turns it takes: groups share costs by weight, see [fairness.md](fairness.md)",
  },
  {
    name: "resources",
    of: ["job", "queue", "type"],
    kind: { is: "resources" },
    isDefinable: true,
    default: "those of its type or queue",
    doc: 'what it needs while it runs, `{"gpu": 1}`: see [limits.md](limits.md)',
    asDefault: { default: "none", doc: "what its jobs need while they run, unless they say so themselves" },
  },
  {
    name: "tenant",
    of: ["job"],
    kind: aName,
    default: "none",
    doc: "whose job it is, for listing, counting, cancelling and `enqueueRate`; most need `group` alone: see [fairness.md](fairness.md#group-or-tenant)",
  },
  {
    name: "runAt",
    of: ["job"],
    kind: aTime,
    isTimed: true,
    default: "the database's now",
    doc: "not before this time",
  },
  {
    name: "delaySeconds",
    of: ["job"],
    kind: someSeconds,
    library: "delay",
    isTimed: true,
    default: "0",
    doc: "not before this many seconds from now",
  },
  {
    name: "expiresAt",
    of: ["job"],
    kind: aTime,
    isTimed: true,
    default: "none",
    doc: "must start by this time, else expired",
  },
  {
    name: "ttlSeconds",
    of: everywhere,
    kind: { ...seconds, word: "computed", isWordOfJobs: true },
    library: "ttl",
    isDefinable: true,
    default: "none",
    doc: 'the same, counted from the first time it could run; `"computed"`: see below',
  },
  {
    name: "deadline",
    of: ["job"],
    kind: aTime,
    isTimed: true,
    default: "none",
    doc: "must finish by this time, else expired",
  },
  {
    name: "maxAttempts",
    of: everywhere,
    kind: { is: "integer", least: 1, most: 999_999_999, word: "unlimited" },
    isDefinable: true,
    default: "25",
    doc: "how many attempts at most; in TypeScript `Infinity` for no limit",
  },
  {
    name: "attemptTimeoutSeconds",
    of: everywhere,
    // as milliseconds, an integer of PostgreSQL
    kind: { is: "number", least: 0.001, most: 2_147_483 },
    library: "attemptTimeout",
    isDefinable: true,
    default: "none",
    doc: "how long one attempt may take",
  },
  {
    name: "retry",
    of: everywhere,
    kind: { is: "retry" },
    library: "retryDelay",
    isDefinable: true,
    default: '`{"base": 1, "factor": 2, "cap": 3600, "jitter": 0.1}`',
    doc: "seconds, a list of seconds whose last repeats, or exponential",
  },
  {
    name: "fingerprint",
    of: ["job"],
    kind: { is: "text", most: 500 },
    default: "none",
    doc: "no second live job with it in the queue",
  },
  {
    name: "fingerprintMode",
    of: ["job"],
    kind: { is: "choice", of: ["keep", "replace", "debounce", "followUp", "window"] },
    default: "`keep`",
    doc: "what a duplicate does: `keep`, `replace` the input, `debounce` (also push the run time), `followUp` (one more while it runs); `window` is `keep` within `fingerprintSeconds` only, whether or not the first still waits",
  },
  {
    name: "fingerprintSeconds",
    of: ["job"],
    kind: someSeconds,
    library: "fingerprintFor",
    default: "0",
    doc: "keep refusing duplicates this long after the enqueue, even after the end",
  },
  { name: "headers", of: ["job"], kind: { is: "headers" }, default: "none", doc: "JSON object beside the input" },
  {
    name: "payload",
    of: ["job"],
    kind: { is: "bytes" },
    default: "none",
    doc: "bytes beside the input, below 256,000,000; in SQL and over HTTP (`payloadBase64`) as base64",
  },
  {
    name: "payloadSize",
    of: ["job"],
    kind: { is: "integer", least: 0, most: 255_999_999 },
    door: "sql",
    default: "none",
    doc: "length of a payload that follows in pieces (set by `enqueueStream`)",
  },
  { name: "contentType", of: ["job"], kind: aName, default: "none", doc: "of the payload" },
  {
    name: "schedule",
    of: ["job"],
    kind: aName,
    door: "engine",
    isTimed: true,
    default: "none",
    doc: "the schedule that made the job",
  },
  {
    name: "slotAt",
    of: ["job"],
    kind: aTime,
    door: "engine",
    isTimed: true,
    default: "none",
    doc: "its slot; (schedule, slot) is unique",
  },
  {
    name: "stage",
    of: ["job"],
    kind: aName,
    isTimed: true,
    default: "none",
    doc: "accepted, but not handed out before this stage of the queue is released: see [queue-states.md](queue-states.md)",
  },
  {
    name: "leaseSeconds",
    of: ["queue", "type", "cell"],
    kind: seconds,
    library: "lease",
    default: "30",
    doc: "for claims that do not say",
  },
  {
    name: "leaseFactor",
    of: ["queue", "type", "cell"],
    kind: { is: "number", least: 1, most: 1_000_000 },
    default: "none",
    doc: "by how much it grows with each attempt",
  },
  {
    name: "leaseCapSeconds",
    of: ["queue", "type", "cell"],
    kind: seconds,
    library: "leaseCap",
    default: "43,200",
    doc: "the longest a growing lease gets",
  },
  {
    name: "agingSeconds",
    of: ["queue", "type", "cell"],
    kind: seconds,
    library: "aging",
    default: "none: strict",
    doc: "jobs become one step of priority more urgent for each time this long that they have waited",
  },
  {
    name: "rate",
    of: ["queue", "type", "group", "resource"],
    kind: { is: "rate" },
    default: "none",
    doc: "`{ perSecond, burst }`, how often its jobs may start, in all processes together; burst is what may come at once, by default a second's worth",
  },
  {
    name: "maxRunning",
    of: ["queue", "type", "group", "resource"],
    kind: aCount,
    default: "none",
    doc: "the most jobs of it that run at once, in all processes together",
  },
  {
    name: "weight",
    of: ["group"],
    kind: { is: "integer", least: 1, most: 1000 },
    default: "1",
    doc: "its share beside other groups",
  },
  {
    name: "enqueueRate",
    of: ["queue"],
    kind: { is: "rate" },
    default: "none",
    doc: "`{ perSecond, burst, spillPriority }`, how many jobs each `tenant` may enqueue; more are refused (MR015), or, with `spillPriority`, get that priority",
  },
  {
    name: "groupRate",
    of: ["queue"],
    kind: { is: "rate" },
    default: "none",
    doc: "`rate` for each group by itself; a group may have its own (`group_put`)",
  },
  {
    name: "groupMaxRunning",
    of: ["queue"],
    kind: aCount,
    default: "none",
    doc: "the most jobs of each group that run at once, in all processes together. Jobs that were claimed before it was set do not count",
  },
  {
    name: "ordered",
    of: ["queue"],
    kind: { is: "choice", of: [true, false, "batches"] },
    default: "false",
    doc: "the jobs of each group, type and priority run one at a time, in order, and one that is retried goes before its successors; `batches`: one claim may take several of them",
  },
  {
    name: "maxDepth",
    of: ["queue"],
    kind: aCount,
    default: "none",
    doc: "while this many jobs wait, ready or delayed, no more are accepted: see [backlogs.md](backlogs.md)",
  },
  {
    name: "maxAgeSeconds",
    of: ["queue"],
    kind: seconds,
    library: "maxAge",
    default: "none",
    doc: "while a ready job has waited for this long, no more are accepted",
  },
  {
    name: "freshnessSeconds",
    of: ["queue"],
    kind: seconds,
    library: "freshness",
    default: "none",
    doc: "what waits is set aside when the oldest of it has waited for longer; takes no jobs with groups",
  },
  {
    name: "drainsAt",
    of: ["queue"],
    kind: { is: "calendar" },
    default: "none",
    doc: "times of day at which jobs run that ask for no time: see [calendars.md](calendars.md)",
  },
  {
    name: "blocked",
    of: ["queue"],
    kind: { is: "calendar" },
    default: "none",
    doc: "periods in which no job starts; its run time becomes their end: see [calendars.md](calendars.md)",
  },
  {
    name: "spread",
    of: ["queue"],
    kind: { is: "choice", of: ["tenant"] },
    default: "none: the queue is in one cell",
    doc: "with several cells, each `tenant` of it has one, and each job names its tenant: see [cells.md](cells.md#queues-that-are-spread-by-tenant). Only when the queue is made",
  },
  {
    name: "errorRules",
    of: ["queue", "type", "cell"],
    kind: { is: "errorRules" },
    default: "none",
    doc: "what to do about certain errors instead of `retry`: see [failures.md](failures.md)",
  },
  {
    name: "breaker",
    of: ["queue", "type"],
    kind: { is: "breaker" },
    default: "none",
    doc: 'hold a type back that keeps failing; `{}` for `{"failures": 5, "withinSeconds": 60, "pauseSeconds": 30, "pauseCapSeconds": 3600}`: see [failures.md](failures.md)',
  },
  {
    name: "waitsFor",
    of: ["queue"],
    kind: { is: "names" },
    default: "none",
    doc: "its jobs wait until all these queues have finished",
  },
  {
    name: "onFailure",
    of: ["queue"],
    kind: { is: "choice", of: ["continue", "pause"] },
    default: "`continue`",
    doc: "`pause` pauses it when a job fails for good, so that a person can decide",
  },
  {
    name: "finalStages",
    of: ["queue"],
    kind: { is: "names" },
    default: "none",
    doc: "stages that are released one after another, once it is closed and everything else of it has ended",
  },
  {
    name: "deadLetterQueue",
    of: ["queue", "type", "cell"],
    kind: { is: "text" },
    default: "none",
    doc: "where copies of failed jobs go; must exist",
  },
  {
    name: "deadLetterAfter",
    of: ["queue"],
    kind: aCount,
    default: "none",
    doc: "this attempt is the last, whatever `maxAttempts` its jobs have; without a `deadLetterQueue` it says nothing",
  },
  {
    name: "lostAlone",
    of: ["queue"],
    kind: { is: "choice", of: [true, false] },
    default: "`true`",
    doc: "whether a job whose lease has ended is claimed alone afterwards, in case it was what killed its worker",
  },
  {
    name: "retentionSucceededSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionSucceeded",
    default: "604,800 (7 days)",
    doc: "counted from the finish, plus up to a day",
  },
  {
    name: "retentionFailedSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionFailed",
    default: "2,592,000 (30 days)",
    doc: "the same",
  },
  {
    name: "retentionExpiredSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionExpired",
    default: "2,592,000 (30 days)",
    doc: "the same",
  },
  {
    name: "retentionCancelledSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionCancelled",
    default: "604,800 (7 days)",
    doc: "the same",
  },
  {
    name: "retentionAttemptsSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionAttempts",
    default: "31,536,000 (365 days)",
    doc: "records of attempts that were not the last; they go with their job at the latest",
  },
  {
    name: "retentionResultsSeconds",
    of: ["cell"],
    kind: seconds,
    library: "retentionResults",
    default: "31,536,000 (365 days)",
    doc: "results; they go with their job at the latest",
  },
  {
    name: "payloadLimitBytes",
    of: ["cell"],
    kind: { is: "integer", least: 1, most: 256_000_000 },
    default: "256,000,000",
    doc: "exclusive; can only be lowered",
  },
] as const satisfies readonly Option[];

type Row = (typeof optionTable)[number];

/** The names of the options that some scope has. */
export type OptionName<Of extends Scope = Scope> = Row extends infer One
  ? One extends Row
    ? Of & One["of"][number] extends never
      ? never
      : One["name"]
    : never
  : never;

/** By name. */
export const optionNamed: ReadonlyMap<string, Option> = new Map(optionTable.map((option) => [option.name, option]));

/** The options that one of these may have, in the order of the table. */
export function optionsOf(...scopes: readonly Scope[]): readonly Option[] {
  return optionTable.filter((option: Option) => option.of.some((scope) => scopes.includes(scope)));
}

/** The names of those that the callers of `Engine` may give. */
export function namesOf(...scopes: readonly Scope[]): ReadonlySet<string> {
  return new Set(
    optionsOf(...scopes)
      .filter(({ door }) => door !== "sql")
      .map(({ name }) => name),
  );
}

/** A bound by its name, or the number itself. */
export const maxOf = (most: Most): number => (typeof most === "number" ? most : bounds[most]);

/** The least and the most of an option that is a number. */
export function rangeOf(name: OptionName): readonly [least: number, most: number] {
  const { kind } = optionNamed.get(name)!;
  if (!("least" in kind)) throw new Error(`${name} is not a number`);
  return [kind.least, maxOf(kind.most)];
}
