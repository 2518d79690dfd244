import { asDate } from "./decode.js";
import { checkKeys, encodeIds, encodeOptions, toJson } from "./encode.js";
import { InvalidArgumentError } from "./errors.js";
import { bounds } from "./limits.js";
import { noted } from "./note.js";
import type { CallOptions } from "./foreign.js";
import type { DecisionNote, EnqueueOptions, JobError, JobId, Json } from "./types.js";
import { Verbs } from "./verbs/verbs.js";

/** Which schedules: the one of a name, or so many beyond one. */
export interface ScheduleFilter {
  readonly name?: string;
  readonly after?: string;
  readonly limit?: number;
  /** Without inputs, which may have a megabyte each. */
  readonly brief?: boolean;
}

/** All of the view `schedules` but the input. */
const briefColumns = `name, rule, job, null as input, options, revision, version, app, declared_by, declared_at, created_at, changed_at, paused_at, paused_by, paused_because,
       finished_at, finished_because, health, message, error, next_slot, next_attempt_at, last_slot, last_attempt_at, last_success_at, failed_attempts, failed_runs, runs,
       succeeded, attempts, total_seconds, last_seconds, average_seconds, missed, open_jobs, pending`;

/** What a schedule does with slots that come while a run goes on, that were missed, and with runs that fail. */
export interface SchedulePolicy {
  /**
   * When a slot comes while the run before goes on: `"queue"` lets it start when that has ended, one at most; `"skip"`
   * leaves it out; `"allow"` starts it beside; `"cancel"` cancels the one before. Default `"queue"`.
   */
  readonly overlap?: "queue" | "skip" | "allow" | "cancel";
  /**
   * Slots that nobody was there to make: the last of them, none, all (the latest so many), or those of the last so many
   * seconds. Default `"last"`.
   */
  readonly missed?: "last" | "none" | { readonly all: number } | { readonly withinSeconds: number };
  /**
   * A run that fails: `"retry"` tries again as its job says, until the next slot comes; `"skip"` waits for the next
   * slot; `{ stopAfter }` retries, and stops the schedule after so many failed runs one after another. Default
   * `"retry"`.
   */
  readonly afterFailure?: "retry" | "skip" | { readonly stopAfter: number };
  /** How many runs at most; then the schedule is finished. Default no limit. */
  readonly maxRuns?: number;
  /** How many runs are kept on record. Default 100. */
  readonly keepRuns?: number;
  /** Cancelling one of its jobs stops the schedule. Default false. */
  readonly cancelStops?: boolean;
}

/** The job that a schedule makes: options of an enqueue that do not name a time. */
export interface ScheduledJob extends Omit<
  EnqueueOptions,
  "runAt" | "delaySeconds" | "expiresAt" | "deadline" | "schedule" | "slotAt" | "stage" | "payload" | "contentType"
> {
  readonly type: string;
  /** Must finish within so many seconds of its slot. Default none. */
  readonly deadlineSeconds?: number;
}

/** A schedule as it is declared to the engine. */
export interface PutSchedule {
  /** When: see docs/schedules.md. */
  readonly rule: Json;
  readonly job: ScheduledJob;
  readonly input?: unknown;
  readonly options?: SchedulePolicy;
  /** Who declares it. Default nobody. */
  readonly by?: string;
  /** The application it belongs to. Default none. */
  readonly app?: string;
  /** Changes nothing when a higher one was declared before. Default none. */
  readonly version?: number;
}

/** What a declaration changed. */
export interface ScheduleChange {
  /** `older`: a declaration with a higher `version` is stored; nothing was changed. */
  readonly change: "created" | "changed" | "unchanged" | "older";
  /** What it was before; not when it was created. */
  readonly was?: {
    readonly rule: Json;
    readonly job: Json;
    readonly input: Json;
    readonly options: Json;
    readonly declaredBy: string | null;
    readonly declaredAt: Date | null;
  };
}

/** How a schedule does. `stopped`: by itself, after failed runs or a cancelled one. */
export type ScheduleHealth = "healthy" | "failing" | "blocked" | "paused" | "stopped" | "finished";

/** A schedule, and all that is known of its runs. */
export interface ScheduleRecord {
  readonly name: string;
  readonly rule: Json;
  readonly job: ScheduledJob;
  readonly input: Json;
  readonly options: SchedulePolicy;
  readonly revision: number;
  readonly version: number | null;
  readonly app: string | null;
  readonly declaredBy: string | null;
  readonly declaredAt: Date | null;
  readonly createdAt: Date;
  readonly changedAt: Date;
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
  readonly finishedAt: Date | null;
  readonly finishedBecause: string | null;
  readonly health: ScheduleHealth;
  /** What the last failure said; null when all is well. */
  readonly message: string | null;
  readonly error: JobError | null;
  /** When it is supposed to run next. */
  readonly nextSlot: Date | null;
  /** When something of it will be tried next, which may be a run that has failed before. */
  readonly nextAttemptAt: Date | null;
  readonly lastSlot: Date | null;
  readonly lastAttemptAt: Date | null;
  readonly lastSuccessAt: Date | null;
  /** Attempts that failed since the last success. */
  readonly failedAttempts: number;
  /** Runs that failed since the last success. */
  readonly failedRuns: number;
  readonly runs: number;
  readonly succeeded: number;
  readonly attempts: number;
  readonly totalSeconds: number;
  readonly lastSeconds: number | null;
  readonly averageSeconds: number | null;
  /** Slots that were left out: missed, or because a run went on. */
  readonly missed: number;
  /** Jobs of runs that have not ended. */
  readonly openJobs: readonly JobId[];
  /** Slots whose job waits to be made. */
  readonly pending: number;
  /** With several cells: the one that it is in. */
  readonly cell?: string;
}

/** One run of a schedule. */
export interface ScheduleRunRecord {
  readonly schedule: string;
  readonly slotAt: Date;
  readonly jobId: JobId;
  readonly kind: "slot" | "late" | "manual" | "backfill";
  /** How its job ended; null until that was noted. */
  readonly outcome: string | null;
  readonly attempts: number | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly seconds: number | null;
  readonly error: JobError | null;
}

/** Something that happened to a schedule. */
export interface ScheduleEvent {
  readonly id: string;
  readonly at: Date;
  readonly schedule: string;
  readonly event:
    | "created"
    | "changed"
    | "removed"
    | "paused"
    | "resumed"
    | "triggered"
    | "backfill"
    | "missed"
    | "skipped"
    | "stopped"
    | "wrong";
  readonly slotAt: Date | null;
  readonly slots: number | null;
  readonly by: string | null;
  readonly because: string | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Runs of a window, or the last ones where `windowSeconds` is null. */
export interface ScheduleStats {
  readonly windowSeconds: number | null;
  readonly runs: number;
  readonly succeeded: number;
  readonly attempts: number;
  readonly totalSeconds: number;
  readonly averageSeconds: number | null;
}

/** A schedule whose slot has come, or is to be computed. Times are milliseconds since 1970 on the database's clock. */
export interface DueSchedule {
  readonly name: string;
  readonly revision: number;
  readonly rule: Json;
  readonly options: SchedulePolicy;
  readonly expected: string;
  readonly slotMs: number | null;
  readonly baseMs: number;
  readonly createdMs: number;
  readonly isFirst: boolean;
  readonly blocked: readonly string[] | null;
}

/** What is to be made of a schedule that is due. */
export interface FireTarget extends Pick<DueSchedule, "name" | "revision" | "expected"> {
  readonly slots: readonly { readonly atMs: number; readonly runAtMs: number; readonly late: boolean }[];
  readonly nextMs: number | null;
  readonly awaitsEnd?: boolean;
  readonly missed?: { readonly slots: number; readonly fromMs: number };
  readonly wrong?: string;
}

/** What `due` answers: nothing to do at all, another has the duty, or this. */
export interface DueAnswer {
  readonly idle?: boolean;
  readonly heldForSeconds?: number;
  readonly nowMs?: number;
  readonly inSeconds?: number | null;
  readonly due?: readonly DueSchedule[];
}

/** A schedule's name and a job of it. */
export type SettleCursor = readonly [name: string, job: JobId] | null;

/** The engine's verbs on schedules, one method per SQL function: `engine.schedules`. */
export class ScheduleEngine extends Verbs {
  /** The database's clock. */
  async now(call?: CallOptions): Promise<Date> {
    const [row] = await this.db.rows("clock_now", "select :clock_now() as now", [], call);
    return asDate(row?.["now"]) as Date;
  }

  /** Declare a schedule. The same again changes nothing. */
  async put(name: string, schedule: PutSchedule, call?: CallOptions): Promise<ScheduleChange> {
    checkKeys(schedule, new Set(["rule", "job", "input", "options", "by", "app", "version"]));
    const { rule, job, input, options = {}, by, app, version } = schedule;
    const { deadlineSeconds, ...jobOptions } = job;
    const timed = {
      ...(JSON.parse(encodeOptions(jobOptions)) as object),
      ...(deadlineSeconds === undefined ? {} : { deadlineSeconds }),
    };
    const values = [
      name,
      toJson(rule),
      toJson(timed),
      input === undefined ? null : toJson(input, "input", bounds.inputBytes),
      toJson(options),
      by ?? null,
      app ?? null,
      version ?? null,
    ];
    const text =
      "select :schedule_put($1::text, $2::jsonb, $3::jsonb, $4::json, $5::jsonb, $6::text, $7::text, $8::int) as answer";
    const [row] = await this.db.rows("schedule_put", text, values, call);
    const { change, was } = row!["answer"] as ScheduleChange & {
      readonly was?: { readonly declaredAt: string | null };
    };
    return was === undefined ? { change } : { change, was: { ...was, declaredAt: asDate(was.declaredAt) } };
  }

  /** Forget a schedule. Jobs it made go on. */
  async remove(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    await this.db.rows(
      "schedule_remove",
      "select :schedule_remove($1::text, $2::text, $3::text)",
      [name, ...noted(note)],
      call,
    );
  }

  /** Make no runs until it is resumed. */
  async pause(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    await this.db.rows(
      "schedule_pause",
      "select :schedule_pause($1::text, $2::text, $3::text)",
      [name, ...noted(note)],
      call,
    );
  }

  /** Go on with the next slot; with `catchUp`, as its rule for missed runs says. */
  async resume(
    name: string,
    note: DecisionNote & { readonly catchUp?: boolean } = {},
    call?: CallOptions,
  ): Promise<void> {
    const { catchUp = false, ...rest } = note;
    const values = [name, ...noted(rest), catchUp];
    await this.db.rows(
      "schedule_resume",
      "select :schedule_resume($1::text, $2::text, $3::text, $4::boolean)",
      values,
      call,
    );
  }

  /** Run it now, even if a run is in progress. */
  async trigger(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<JobId> {
    const [row] = await this.db.rows(
      "schedule_trigger",
      "select :schedule_trigger($1::text, $2::text, $3::text)::text as id",
      [name, ...noted(note)],
      call,
    );
    return row?.["id"] as JobId;
  }

  /** Make runs for past slots that have none, so many of them at once. Returns how many there will be. */
  async backfill(
    name: string,
    slots: readonly Date[],
    concurrency: number,
    note: DecisionNote = {},
    call?: CallOptions,
  ): Promise<number> {
    if (!Number.isInteger(concurrency))
      throw new InvalidArgumentError(`a concurrency of ${concurrency} is not possible`, "give 1 to 1,000");
    const values = [name, `{${slots.map((slot) => slot.getTime()).join(",")}}`, concurrency, ...noted(note)];
    const [row] = await this.db.rows(
      "schedule_backfill",
      "select :schedule_backfill($1::text, $2::bigint[], $3::int, $4::text, $5::text) as n",
      values,
      call,
    );
    return Number(row?.["n"]);
  }

  /** Name days, such as `"2026-12-25"`, on which schedules with this calendar make no run; none: forget it. */
  async calendarPut(name: string, days: readonly string[], call?: CallOptions): Promise<void> {
    const wrong = days.find((day) => !isDay(day));
    if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is not a day`, "give days such as 2026-12-25");
    await this.db.rows(
      "calendar_put",
      "select :calendar_put($1::text, $2::date[])",
      [name, `{${days.join(",")}}`],
      call,
    );
  }

  /** The days of some calendars. */
  async blockedDays(calendars: readonly string[], call?: CallOptions): Promise<string[]> {
    if (calendars.length === 0) return [];
    const text = "select distinct unnest(days)::text as day from :calendars where name = any ($1::text[])";
    return (await this.db.rows("calendars", text, [calendars], call)).map((row) => row["day"] as string);
  }

  /** Schedules by name, so many beyond one; or the one of a name. `brief` does not read inputs, which are null then. */
  async list(filter: ScheduleFilter = {}, call?: CallOptions): Promise<ScheduleRecord[]> {
    checkKeys(filter, new Set(["name", "after", "limit", "brief"]));
    const text = `select ${filter.brief ? briefColumns : "*"}, open_jobs::text[] as open_ids from :schedules
                   where ($1::text is null or name = $1) and ($2::text is null or name > $2) order by name limit $3`;
    return (
      await this.db.rows(
        filter.brief ? "schedules_brief" : "schedules",
        text,
        [filter.name ?? null, filter.after ?? null, checkLimit(filter.limit ?? 1000)],
        call,
      )
    ).map(decodeSchedule);
  }

  /** Schedules of an application other than these. */
  async undeclared(app: string, names: readonly string[], call?: CallOptions): Promise<string[]> {
    const rows = await this.db.rows(
      "schedules_undeclared",
      "select name from :schedules_undeclared($1::text, $2::text[]) as name",
      [app, names],
      call,
    );
    return rows.map((row) => row["name"] as string);
  }

  /** The latest runs of a schedule, newest first. */
  async runs(name: string, limit = 100, call?: CallOptions): Promise<ScheduleRunRecord[]> {
    const text =
      "select *, job_id::text as id_text from :schedule_runs where schedule = $1 order by slot_at desc limit $2";
    return (await this.db.rows("schedule_runs", text, [name, checkLimit(limit)], call)).map(decodeRun);
  }

  /** What happened to a schedule, or to all, newest first. */
  async events(name?: string, limit = 100, call?: CallOptions): Promise<ScheduleEvent[]> {
    const text =
      "select *, id::text as id_text from :schedule_events where $1::text is null or schedule = $1 order by schedule_events.id desc limit $2";
    return (await this.db.rows("schedule_events", text, [name ?? null, checkLimit(limit)], call)).map(decodeEvent);
  }

  /** How many runs ended, and how long they took: the last ones, and those of windows up to now. */
  async durations(
    name: string,
    options: { readonly runs?: number; readonly windows?: readonly number[] } = {},
    call?: CallOptions,
  ): Promise<ScheduleStats[]> {
    checkKeys(options, new Set(["runs", "windows"]));
    const values = [name, options.runs ?? 10, `{${(options.windows ?? [3600, 86_400, 604_800]).join(",")}}`];
    return (
      await this.db.rows(
        "schedule_durations",
        "select * from :schedule_durations($1::text, $2::int, $3::float8[])",
        values,
        call,
      )
    ).map(decodeStats);
  }

  /** Which schedules are due, for the one process that has this duty. */
  async due(holder: string, leaseSeconds: number, limit: number, call?: CallOptions): Promise<DueAnswer> {
    const [row] = await this.db.rows(
      "schedules_due",
      "select :schedules_due($1::text, $2::float8, $3::int) as answer",
      [holder, leaseSeconds, limit],
      call,
    );
    return row?.["answer"] as DueAnswer;
  }

  /**
   * Make the slots of schedules that are due, and set their next ones. Returns of how many: what has changed meanwhile
   * is left alone.
   */
  async fire(targets: readonly FireTarget[], call?: CallOptions): Promise<number> {
    const [row] = await this.db.rows(
      "schedules_fire",
      "select :schedules_fire($1::jsonb) as n",
      [JSON.stringify(targets)],
      call,
    );
    return Number(row?.["n"]);
  }

  /** Making a run failed: say why, and try again later. */
  async hold(
    { name, revision }: Pick<FireTarget, "name" | "revision">,
    seconds: number,
    error: JobError,
    call?: CallOptions,
  ): Promise<void> {
    await this.db.rows(
      "schedules_hold",
      "select :schedules_hold($1::text, $2::int, $3::float8, $4::json)",
      [name, revision, seconds, toJson(error)],
      call,
    );
  }

  /**
   * Note the end of these runs and go on with what waited for it; without jobs, of some that are open, beyond `after`.
   * Returns how many had ended, and where to go on, null when that was all.
   */
  async settle(
    jobs: readonly JobId[] | undefined,
    after: SettleCursor = null,
    call?: CallOptions,
  ): Promise<{ readonly settled: number; readonly after: SettleCursor }> {
    const values = [jobs === undefined ? null : encodeIds(jobs), after];
    const [row] = await this.db.rows(
      "schedules_settle",
      "select settled, after from :schedules_settle($1::bigint[], $2::text[])",
      values,
      call,
    );
    return row as { settled: number; after: SettleCursor };
  }

  /** Give up the duty to make slots. */
  async yield(holder: string, call?: CallOptions): Promise<void> {
    await this.db.rows("schedules_yield", "select :schedules_yield($1::text)", [holder], call);
  }
}

/** A date that is in the calendar: not the 30th of February. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

function checkLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw new InvalidArgumentError(`a list of ${limit} is not possible`, "give a limit of 1 to 10,000");
  return limit;
}

type Row = Record<string, unknown>;

function decodeSchedule(row: Row): ScheduleRecord {
  return {
    name: row["name"],
    rule: row["rule"],
    job: row["job"],
    input: row["input"],
    options: row["options"],
    revision: row["revision"],
    version: row["version"],
    app: row["app"],
    declaredBy: row["declared_by"],
    declaredAt: asDate(row["declared_at"]),
    createdAt: asDate(row["created_at"]),
    changedAt: asDate(row["changed_at"]),
    pausedAt: asDate(row["paused_at"]),
    pausedBy: row["paused_by"],
    pausedBecause: row["paused_because"],
    finishedAt: asDate(row["finished_at"]),
    finishedBecause: row["finished_because"],
    health: row["health"],
    message: row["message"],
    error: row["error"],
    nextSlot: asDate(row["next_slot"]),
    nextAttemptAt: asDate(row["next_attempt_at"]),
    lastSlot: asDate(row["last_slot"]),
    lastAttemptAt: asDate(row["last_attempt_at"]),
    lastSuccessAt: asDate(row["last_success_at"]),
    failedAttempts: Number(row["failed_attempts"]),
    failedRuns: row["failed_runs"],
    runs: Number(row["runs"]),
    succeeded: Number(row["succeeded"]),
    attempts: Number(row["attempts"]),
    totalSeconds: row["total_seconds"],
    lastSeconds: row["last_seconds"],
    averageSeconds: row["average_seconds"],
    missed: Number(row["missed"]),
    openJobs: row["open_ids"] ?? [],
    pending: Number(row["pending"]),
  } as ScheduleRecord;
}

function decodeRun(row: Row): ScheduleRunRecord {
  return {
    schedule: row["schedule"],
    slotAt: asDate(row["slot_at"]),
    jobId: row["id_text"],
    kind: row["kind"],
    outcome: row["outcome"],
    attempts: row["attempts"],
    startedAt: asDate(row["started_at"]),
    finishedAt: asDate(row["finished_at"]),
    seconds: row["seconds"],
    error: row["error"],
  } as ScheduleRunRecord;
}

function decodeEvent(row: Row): ScheduleEvent {
  return {
    id: row["id_text"],
    at: asDate(row["at"]),
    schedule: row["schedule"],
    event: row["event"],
    slotAt: asDate(row["slot_at"]),
    slots: row["slots"],
    by: row["by"],
    because: row["because"],
  } as ScheduleEvent;
}

function decodeStats(row: Row): ScheduleStats {
  return {
    windowSeconds: row["window_seconds"],
    runs: Number(row["runs"]),
    succeeded: Number(row["succeeded"]),
    attempts: Number(row["attempts"]),
    totalSeconds: row["total_seconds"],
    averageSeconds: row["average_seconds"],
  } as ScheduleStats;
}
