import { hostname } from "node:os";
import type { Engine } from "../db/engine.js";
import { InvalidArgumentError, ScheduleNotFoundError } from "../db/errors.js";
import type {
  ScheduleChange,
  ScheduleEvent,
  ScheduleOptions as EngineScheduleOptions,
  ScheduleRecord,
  ScheduleRunRecord,
  ScheduleStats,
} from "../db/schedule-engine.js";
import type { DecisionNote, EnqueueOptions, JobId, Json } from "../db/types.js";
import { parseRule } from "../schedule/parse-rule.js";
import type { RuleInput } from "../schedule/rule.js";
import { Slots } from "../schedule/slots.js";
import { type TxOptions, callOf, noteOf } from "./call.js";
import { type Duration, durationSeconds } from "./duration.js";
import type { JobOptions } from "./job-options.js";

/** Options of `mill.schedule`: those of its jobs, and how it deals with slots that are late or overlap, and with failure. */
export interface ScheduleOptions
  extends
    Omit<JobOptions, "delay" | "runAt" | "expiresAt" | "deadline" | "stage" | "payload" | "contentType">,
    Omit<EngineScheduleOptions, "missed" | "cancelStops">,
    TxOptions {
  /** Slots that nobody was there to make: the last of them, none, all (the latest so many), or those within some time. Default `"last"`. */
  readonly missed?: "last" | "none" | { readonly all: number } | { readonly within: Duration };
  /** Must finish within this time of its slot, else its signal fires and it expires. Default none. */
  readonly deadlineAfter?: Duration;
  /** A number that grows with releases: a declaration with a lower one than that in the database is refused (MR017). Default none: the last one wins. */
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
    extra: Pick<EngineScheduleOptions, "cancelStops"> = {},
  ): Promise<Scheduled> {
    const { tx, version } = options;
    const text = JSON.stringify([rule, job, options.overlap, options.missed, options.afterFailure, options.maxRuns]);
    if ((this.#declared.get(name) ?? text) !== text)
      throw new InvalidArgumentError(`schedule "${name}" is declared twice, and not alike`, "give each schedule a name of its own");
    const now = (await this.engine.schedules.now(callOf({ tx }))).getTime();
    const parsed = parseRule(rule);
    const slots = new Slots(parsed, { createdAt: now });
    const next = preview(slots, now, previewed);
    if (next.length === 0)
      throw new InvalidArgumentError(`schedule "${name}" would never run`, "its rule has no slot in the future; check its times, startsAt, endsAt and except");
    const { input, ...jobOptions } = job;
    const answer = await this.engine.schedules.put(
      name,
      {
        rule: parsed as unknown as Json,
        job: { ...jobOptions, ...(options.deadlineAfter === undefined ? {} : { deadlineSeconds: durationSeconds(options.deadlineAfter, "deadlineAfter") }) },
        input,
        options: { ...engineOptions(options), ...extra },
        by: declaredBy,
        app: this.app,
        ...(version === undefined ? {} : { version }),
      },
      callOf({ tx }),
    );
    this.#declared.set(name, text);
    this.#warnAtOdds(name, answer, now);
    this.onChange();
    return { name, ...answer, next };
  }

  /** Two processes of different releases would change it to and fro: that must not go unseen. */
  #warnAtOdds(name: string, { change, was }: ScheduleChange, now: number): void {
    if (change !== "changed" || !was?.declaredBy || was.declaredBy === declaredBy || !was.declaredAt || now - was.declaredAt.getTime() > atOddsMs) return;
    process.emitWarning(
      `schedule "${name}" was declared otherwise by ${was.declaredBy}, ${Math.round((now - was.declaredAt.getTime()) / 1000)} s ago; this declaration holds now. Give a version to let the newer release win.`,
      {
        code: "MILLRACE_SCHEDULE",
      },
    );
  }

  /** Schedules by name, with what is known of their runs: the first 1000, or so many beyond one. */
  async list(options: TxOptions & { readonly after?: string; readonly limit?: number } = {}): Promise<ScheduleRecord[]> {
    const { tx: _tx, ...filter } = options;
    return this.engine.schedules.list(filter, callOf(options, ["after", "limit"]));
  }

  /** One schedule. Rejects with ScheduleNotFoundError when there is none. */
  async get(name: string, options: TxOptions = {}): Promise<ScheduleRecord> {
    const [record] = await this.engine.schedules.list({ name }, callOf(options));
    if (!record) throw new ScheduleNotFoundError(`there is no schedule "${name}"`, "those there are, are told by mill.schedules.list()");
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
  async next(schedule: string | RuleInput, options: { readonly count?: number } = {}): Promise<Date[]> {
    const { count = previewed } = options;
    if (!Number.isInteger(count) || count < 1 || count > 10_000) throw new InvalidArgumentError(`${count} slots cannot be told`, "give 1 to 10,000");
    const now = (await this.engine.schedules.now()).getTime();
    if (typeof schedule !== "string") return preview(new Slots(parseRule(schedule), { createdAt: now }), now, count);
    const record = await this.get(schedule);
    return preview(await this.#slotsOf(record), Math.max(now, record.lastSlot?.getTime() ?? 0), count);
  }

  async #slotsOf({ rule, createdAt }: ScheduleRecord): Promise<Slots> {
    const parsed = parseRule(rule);
    const blocked = await this.engine.schedules.blockedDays(parsed.calendars ?? []);
    return new Slots(parsed, { createdAt: createdAt.getTime(), blocked: new Set(blocked) });
  }

  /** Make no runs of it, in any process, until it is resumed. Jobs it made go on. */
  async pause(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.pause(name, noteOf(note), callOf(options));
  }

  /** Go on with its next slot. With `catchUp`, what came meanwhile is dealt with as missed. One that stopped because of failures starts again. */
  async resume(name: string, note: DecisionNote & { readonly catchUp?: boolean } = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.resume(name, note, callOf(options));
    this.onChange();
  }

  /** Run it now, beside whatever runs of it. Returns the job. */
  async run(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<JobId> {
    return this.engine.schedules.trigger(name, noteOf(note), callOf(options));
  }

  /**
   * Make up for the slots of a past range that have no run, `concurrency` of them at once. Returns how many that are.
   *
   * ```ts
   * await mill.schedules.backfill("nightly", { from: new Date("2026-01-01"), until: new Date("2026-02-01"), concurrency: 4 });
   * ```
   */
  async backfill(
    name: string,
    range: DecisionNote & { readonly from: Date; readonly until: Date; readonly concurrency?: number },
    options: TxOptions = {},
  ): Promise<number> {
    const record = await this.get(name, options);
    const [from, until] = [range.from.getTime(), range.until.getTime()];
    if (!(from < until)) throw new InvalidArgumentError("the range is empty", "let it end after it begins");
    const slots = (await this.#slotsOf(record)).between(from - 1, until - 1, 10_001);
    if (slots.length > 10_000) throw new InvalidArgumentError("the range has more than 10,000 slots", "give a shorter one");
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
    await this.engine.schedules.remove(name, noteOf(note), callOf(options));
    this.#declared.delete(name);
  }

  /** Its latest runs, newest first. */
  async runs(name: string, options: TxOptions & { readonly limit?: number } = {}): Promise<ScheduleRunRecord[]> {
    return this.engine.schedules.runs(name, options.limit, callOf(options, ["limit"]));
  }

  /** What happened to it, or to all: changes, pauses, missed and skipped slots, newest first. */
  async events(name?: string, options: TxOptions & { readonly limit?: number } = {}): Promise<ScheduleEvent[]> {
    return this.engine.schedules.events(name, options.limit, callOf(options, ["limit"]));
  }

  /** How many runs ended and how long they took: the last ten and those of the last hour, day and week, or as asked for. */
  async durations(name: string, options: TxOptions & { readonly runs?: number; readonly windows?: readonly Duration[] } = {}): Promise<ScheduleStats[]> {
    const { runs, windows } = options;
    const asked = {
      ...(runs === undefined ? {} : { runs }),
      ...(windows === undefined ? {} : { windows: windows.map((window) => durationSeconds(window, "windows")) }),
    };
    return this.engine.schedules.stats(name, asked, callOf(options, ["runs", "windows"]));
  }

  /** Name days on which schedules with this name in their `calendars` make no run. An empty list forgets it. */
  async calendar(name: string, days: readonly string[], options: TxOptions = {}): Promise<void> {
    await this.engine.schedules.calendarPut(name, days, callOf(options));
    this.onChange();
  }

  /**
   * Schedules of this application that were declared once, and not by this client: perhaps they are not in the code any more. To be asked after all were
   * declared; a client that declares none has none to miss.
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

function engineOptions(options: ScheduleOptions): EngineScheduleOptions {
  const chosen: Record<string, unknown> = {};
  for (const key of scheduleKeys) if (options[key] !== undefined) chosen[key] = options[key];
  const { missed } = options;
  if (typeof missed === "object" && "within" in missed) chosen["missed"] = { withinSeconds: durationSeconds(missed.within, "missed.within") };
  return chosen;
}

/** Options of the schedule itself; the others are its jobs'. */
export function jobOptionsOf(options: ScheduleOptions): JobOptions {
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
