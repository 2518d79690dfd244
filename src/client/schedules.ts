import { warn } from "../observe/warning.js";
import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { checkKeys } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { InvalidArgumentError, ScheduleNotFoundError } from "../db/errors.js";
import type {
  ScheduleChange,
  ScheduleEvent,
  SchedulePolicy,
  ScheduleRecord,
  ScheduleRunRecord,
  ScheduleStats,
} from "../db/schedule-engine.js";
import type { CallOptions } from "../db/foreign.js";
import type { DecisionNote, EnqueueOptions, JobId, Json } from "../db/types.js";
import { parseRule } from "../schedule/parse-rule.js";
import type { Rule, RuleInput } from "../schedule/rule.js";
import { Slots } from "../schedule/slots.js";
import { type TxOptions, callOf, noteOf } from "./call.js";
import { type Duration, durationSeconds } from "../job/duration.js";
import { type JobOptions, jobOptionKeys } from "../job/job-options.js";

/**
 * Options of `mill.schedule`: those of its jobs, and how it deals with slots that are late or overlap, and with
 * failure.
 */
export interface ScheduleOptions
  extends
    Omit<JobOptions, "delay" | "runAt" | "expiresAt" | "deadline" | "stage" | "payload" | "contentType">,
    Omit<SchedulePolicy, "missed" | "cancelStops">,
    TxOptions {
  /**
   * Slots that nobody was there to make: the last of them, none, all (the latest so many), or those within some time.
   * Default `"last"`.
   */
  readonly missed?: "last" | "none" | { readonly all: number } | { readonly within: Duration };
  /**
   * Must finish within this time of its slot, or of the moment it was made when that was later; else its signal fires
   * and it expires. Default none.
   */
  readonly deadlineAfter?: Duration;
  /**
   * A number that grows with releases: a declaration with a lower one than that in the database changes nothing, and
   * warns. Default none: the last one wins.
   */
  readonly version?: number;
}

/** What `mill.schedule` answers. */
export interface Scheduled extends ScheduleChange {
  readonly name: string;
  /** The first slots to come. */
  readonly next: readonly Date[];
}

const scheduleKeys = ["overlap", "missed", "afterFailure", "maxRuns", "keepRuns"] as const;
/** Two releases that declare one name differently, within this time, are at odds. */
const atOddsMs = 600_000;
const previewed = 5;
const declaredBy = `${hostname()}:${process.pid}`;

/** The job that a schedule makes, as `Millrace` makes it from a definition. */
export type NewJob = EnqueueOptions & { readonly type: string; readonly input: unknown };

/** Recurring work: `mill.schedules`. Declare it with `mill.schedule`. */
export class Schedules {
  /** The types of schedules that were declared here, by name. */
  readonly #declared = new Map<string, string>();

  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
    /** The application that schedules declared here belong to. */
    readonly app: string,
    /** Told that something changed that schedulers of this process should look at. */
    readonly onChange: () => void,
  ) {}

  /** Check a schedule, store it, and say what that changed. Private to `Millrace`. */
  async declare(
    name: string,
    rule: RuleInput,
    job: NewJob,
    options: ScheduleOptions,
    extra: Pick<SchedulePolicy, "cancelStops"> = {},
  ): Promise<Scheduled> {
    const { tx, version } = options;
    if ((this.#declared.get(name) ?? job.type) !== job.type)
      throw new InvalidArgumentError(
        `schedule "${name}" is declared twice, for "${this.#declared.get(name)}" and "${job.type}"`,
        "give each schedule a name of its own",
      );
    const now = (await this.engine.schedules.now(callOf({ tx }))).getTime();
    const parsed = parseRule(rule);
    const next = preview(await this.#slotsOf(parsed, now), now, previewed);
    if (next.length === 0) await this.mustBeKnown(name, parsed, callOf({ tx }));
    const { input, ...jobOptions } = job;
    const answer = await this.engine.schedules.put(
      name,
      {
        rule: parsed as unknown as Json,
        job: {
          ...jobOptions,
          ...(options.deadlineAfter === undefined
            ? {}
            : { deadlineSeconds: durationSeconds(options.deadlineAfter, "deadlineAfter") }),
        },
        input,
        options: { ...engineOptions(options), ...extra },
        by: declaredBy,
        app: this.app,
        ...(version === undefined ? {} : { version }),
      },
      callOf({ tx }),
    );
    this.#declared.set(name, job.type);
    this.#warnAtOdds(name, answer, now);
    this.onChange();
    return { name, ...answer, next };
  }

  /** One whose last slot has passed may be declared again, as it is, by every process that starts. @internal */
  async mustBeKnown(name: string, rule: Rule, call: CallOptions | undefined): Promise<void> {
    const [record] = await this.engine.schedules.list({ name }, call);
    if (!record || !isDeepStrictEqual(record.rule, JSON.parse(JSON.stringify(rule))))
      throw new InvalidArgumentError(
        `schedule "${name}" would never run`,
        "its rule has no slot in the future; check its times, startsAt, endsAt and except",
      );
  }

  /** Two processes of different releases would change it to and fro: that must not go unseen. */
  #warnAtOdds(name: string, { change, was }: ScheduleChange, now: number): void {
    const other = was?.declaredBy ?? "somebody";
    const ago = was?.declaredAt ? now - was.declaredAt.getTime() : Infinity;
    if (change === "older")
      warn(
        "MILLRACE_SCHEDULE",
        `schedule "${name}" was declared with a higher version by ${other}; that declaration holds`,
      );
    else if (change === "changed" && other !== declaredBy && ago < atOddsMs)
      warn(
        "MILLRACE_SCHEDULE",
        `schedule "${name}" was declared otherwise by ${other}, ${Math.round(ago / 1000)} s ago; this declaration holds now. Give a version to let the newer release win`,
      );
  }

  /** Schedules by name, with what is known of their runs: the first 1000, or so many beyond one. */
  async list(
    options: TxOptions & { readonly after?: string; readonly limit?: number } = {},
  ): Promise<ScheduleRecord[]> {
    const call = callOf(options, ["after", "limit"]);
    const { tx: _tx, ...filter } = options;
    return this.engine.schedules.list(filter, call);
  }

  /** One schedule. Rejects with ScheduleNotFoundError when there is none. */
  async get(name: string, options: TxOptions = {}): Promise<ScheduleRecord> {
    const [record] = await this.engine.schedules.list({ name }, callOf(options));
    if (!record)
      throw new ScheduleNotFoundError(
        `there is no schedule "${name}"`,
        "those there are, are told by mill.schedules.list()",
      );
    return record;
  }

  /**
   * When a schedule, or a rule, would run next.
   *
   * ```ts
   * await mill.schedules.next("nightly");
   * await mill.schedules.next({ cron: "0 3 * * *", tz: "Europe/Berlin" }, { count: 10 });
   * ```
   */
  async next(
    schedule: string | RuleInput,
    options: { readonly count?: number; readonly from?: Date } = {},
  ): Promise<Date[]> {
    checkKeys(options, new Set(["count", "from"]));
    const { count = previewed } = options;
    if (!Number.isInteger(count) || count < 1 || count > 10_000)
      throw new InvalidArgumentError(`${count} slots cannot be told`, "give 1 to 10,000");
    const now = (await this.engine.schedules.now()).getTime();
    const from = options.from === undefined ? now : checkDate("from", options.from);
    if (typeof schedule !== "string") return preview(await this.#slotsOf(parseRule(schedule), now), from, count);
    const { rule, createdAt, lastSlot, nextSlot } = await this.get(schedule);
    const parsed = parseRule(rule);
    if ("after" in parsed) return nextSlot === null ? [] : [nextSlot];
    return preview(await this.#slotsOf(parsed, createdAt.getTime()), Math.max(from, lastSlot?.getTime() ?? 0), count);
  }

  async #slotsOf(rule: Rule, createdAt: number): Promise<Slots> {
    return new Slots(rule, {
      createdAt,
      blocked: new Set(await this.engine.schedules.blockedDays(rule.calendars ?? [])),
    });
  }

  /** Make no runs of it, in any process, until it is resumed. Jobs it made go on. */
  async pause(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.pause(name, note, callOf(options));
  }

  /**
   * Go on with its next slot. With `catchUp`, what came meanwhile is dealt with as missed. One that stopped because of
   * failures starts again.
   */
  async resume(
    name: string,
    note: DecisionNote & { readonly catchUp?: boolean } = {},
    options: TxOptions = {},
  ): Promise<void> {
    await this.engine.schedules.resume(name, note, callOf(options));
    this.onChange();
  }

  /** Run it now, even if a run is in progress. Returns the job. */
  async trigger(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<JobId> {
    return this.engine.schedules.trigger(name, note, callOf(options));
  }

  /**
   * Make up for the slots of a past range that have no run, `concurrency` of them at once. Returns how many that are.
   *
   * ```ts
   * await mill.schedules.backfill("nightly", { since: new Date("2026-01-01"), until: new Date("2026-02-01"), concurrency: 4 });
   * ```
   */
  async backfill(
    name: string,
    range: DecisionNote & { readonly since: Date; readonly until: Date; readonly concurrency?: number },
    options: TxOptions = {},
  ): Promise<number> {
    const record = await this.get(name, options);
    checkKeys(range, new Set(["since", "until", "concurrency", "by", "because"]));
    const [since, until] = [checkDate("since", range.since), checkDate("until", range.until)];
    if (!(since < until)) throw new InvalidArgumentError("the range is empty", "let it end after it begins");
    const slots = (await this.#slotsOf(parseRule(record.rule), record.createdAt.getTime())).between(
      since - 1,
      until - 1,
      10_001,
    );
    if (slots.length > 10_000)
      throw new InvalidArgumentError("the range has more than 10,000 slots", "give a shorter one");
    const made = await this.engine.schedules.backfill(
      name,
      slots.map((slot) => new Date(slot)),
      range.concurrency ?? 1,
      noteOf(range),
      callOf(options),
    );
    this.onChange();
    return made;
  }

  /** Forget a schedule. Jobs it made go on. */
  async remove(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.remove(name, note, callOf(options));
    this.#declared.delete(name);
  }

  /** Its latest runs, newest first. */
  async runs(name: string, options: TxOptions & { readonly limit?: number } = {}): Promise<ScheduleRunRecord[]> {
    const call = callOf(options, ["limit"]);
    return this.engine.schedules.runs(name, options.limit, call);
  }

  /** What happened to it, or to all: changes, pauses, missed and skipped slots, newest first. */
  async events(name?: string, options: TxOptions & { readonly limit?: number } = {}): Promise<ScheduleEvent[]> {
    const call = callOf(options, ["limit"]);
    return this.engine.schedules.events(name, options.limit, call);
  }

  /**
   * How many runs ended and how long they took: the last ten and those of the last hour, day and week, or as asked for.
   */
  async durations(
    name: string,
    options: TxOptions & { readonly runs?: number; readonly windows?: readonly Duration[] } = {},
  ): Promise<ScheduleStats[]> {
    const call = callOf(options, ["runs", "windows"]);
    const { runs, windows } = options;
    const asked = {
      ...(runs === undefined ? {} : { runs }),
      ...(windows === undefined ? {} : { windows: windows.map((window) => durationSeconds(window, "windows")) }),
    };
    return this.engine.schedules.durations(name, asked, call);
  }

  /** Name days on which schedules with this name in their `calendars` make no run. An empty list forgets it. */
  async calendarPut(name: string, days: readonly string[], options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.calendarPut(name, days, callOf(options));
    this.onChange();
  }

  /**
   * Schedules of this application that were declared once, and not by this client: perhaps they are not in the code any
   * more. To be asked after all were declared; a client that declares none has none to miss.
   */
  async undeclared(options: TxOptions = {}): Promise<string[]> {
    if (this.#declared.size === 0) return [];
    return this.engine.schedules.undeclared(this.app, [...this.#declared.keys()], callOf(options));
  }
}

/** The slots to come; of one that counts from the end of its runs the first, which is at once. */
function preview(slots: Slots, after: number, count: number): Date[] {
  const { rule } = slots;
  const from = "after" in rule ? after - rule.after : after;
  return slots.between(from, Infinity, count).map((slot) => new Date(slot));
}

function engineOptions(options: ScheduleOptions): SchedulePolicy {
  const chosen: Record<string, unknown> = {};
  for (const key of scheduleKeys) if (options[key] !== undefined) chosen[key] = options[key];
  const { missed } = options;
  if (typeof missed === "object" && "within" in missed)
    chosen["missed"] = { withinSeconds: durationSeconds(missed.within, "missed.within") };
  return chosen;
}

function checkDate(what: string, date: Date): number {
  if (date instanceof Date && !Number.isNaN(date.getTime())) return date.getTime();
  throw new InvalidArgumentError(`${what} is not a date`, "give a valid Date");
}

const notForSchedules = new Set(["delay", "runAt", "expiresAt", "deadline", "stage", "payload", "contentType"]);
const knownKeys = new Set([
  ...[...jobOptionKeys].filter((key) => !notForSchedules.has(key)),
  ...scheduleKeys,
  "deadlineAfter",
  "version",
  "tx",
]);

/** Options of the schedule itself; the others are its jobs'. */
export function jobOptionsOf(options: ScheduleOptions): JobOptions {
  checkKeys(options, knownKeys);
  const {
    tx: _tx,
    missed: _missed,
    overlap: _overlap,
    afterFailure: _afterFailure,
    maxRuns: _maxRuns,
    keepRuns: _keepRuns,
    deadlineAfter: _deadline,
    version: _version,
    ...job
  } = options;
  return job;
}
