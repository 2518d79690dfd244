// What people and programs look at and decide on: queues, jobs, schedules, limits, workers, alerts, cells, history.
import type { IncomingMessage } from "node:http";
import {
  type AlertEvent,
  type AlertRecord,
  type AlertRuleRecord,
  type BreakerRecord,
  type CellFinding,
  type CellRecord,
  type Cells,
  type ChildRecord,
  type DecisionRecord,
  type Depth,
  type DrainPlan,
  type DrainResult,
  type Engine,
  type Enqueued,
  type FailureGroup,
  type GroupDepth,
  type HistoryPoint,
  type HookRecord,
  type JobCounts,
  type JobDetails,
  type JobId,
  type JobLog,
  type JobRecord,
  type JobStep,
  type Json,
  type LimitRecord,
  type Millrace,
  type MovePlan,
  type MoveResult,
  type PartialAnswer,
  type PauseRecord,
  type ProcessRecord,
  type QueueEvent,
  type QueueRecord,
  type Reason,
  type RemovePlan,
  type Replayed,
  type RunStats,
  type ScheduleEvent,
  type ScheduleRecord,
  type ScheduleRunRecord,
  type ScheduleStats,
  type StageRecord,
  type Worker,
  whyText,
} from "millrace";
import { type HandlerOptions, type QueueHandler, type User, createHandler } from "millrace/server";
import type pg from "pg";
import { expectTypeOf } from "vitest";

declare const mill: Millrace;
declare const tx: pg.PoolClient;
declare const enqueued: Enqueued<{ width: number }>;
const id: JobId = "889772954049728512";

export async function queues(): Promise<void> {
  expectTypeOf(await mill.queues.list()).toEqualTypeOf<QueueRecord[]>();
  expectTypeOf(await mill.queues.depth("mail", { tx })).toEqualTypeOf<Depth>();
  expectTypeOf(await mill.queues.groups("mail", 10)).toEqualTypeOf<GroupDepth[]>();
  expectTypeOf(await mill.queues.why("mail", { type: "send" })).toEqualTypeOf<Reason[]>();
  expectTypeOf(await mill.queues.stages()).toEqualTypeOf<StageRecord[]>();
  expectTypeOf(await mill.queues.pauses()).toEqualTypeOf<PauseRecord[]>();
  expectTypeOf(await mill.queues.breakers()).toEqualTypeOf<BreakerRecord[]>();
  expectTypeOf(await mill.queues.breakerReset({ queue: "mail" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.queues.purge("mail")).toEqualTypeOf<number>();
  expectTypeOf(await mill.queues.shed("mail", new Date(), { group: "g" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.queues.setAside("mail", { type: "send" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.queues.redrive("dead", { target: "mail", limit: 10 })).toEqualTypeOf<number>();
  expectTypeOf(await mill.queues.stageRelease("import", "load", { by: "ann" })).toEqualTypeOf<number>();
  for await (const event of mill.queues.events({ pollInterval: "5s" })) expectTypeOf(event).toEqualTypeOf<QueueEvent>();
  await mill.queues.put(
    "mail",
    { lease: "1m", retryDelay: ["1s", "1m"], rate: { perSecond: 5 }, maxAge: null },
    { tx },
  );
  await mill.queues.pause("mail", { type: "send", by: "ann", because: "the provider is down" });
  await mill.queues.resume("mail", { type: "send" });
  await mill.queues.groupPut("mail", "tenant-7", { weight: 3, maxRunning: null });
  // @ts-expect-error -- SQL says seconds, TypeScript says lease
  await mill.queues.put("mail", { leaseSeconds: 60 });
  // @ts-expect-error -- it is called retryDelay here
  await mill.queues.put("mail", { retry: [1, 60] });
  // @ts-expect-error -- how long results are kept is set for the cell
  await mill.queues.put("mail", { retentionResults: "1d" });
  // @ts-expect-error -- a rate says how many per second
  await mill.queues.put("mail", { rate: 5 });
  // @ts-expect-error -- groups are ordered, or in batches
  await mill.queues.put("mail", { ordered: "always" });
  // @ts-expect-error -- a time is no duration
  await mill.queues.put("mail", { lease: new Date() });
  // @ts-expect-error -- who and why are by and because
  await mill.queues.pause("mail", { reason: "the provider is down" });
  // @ts-expect-error -- a queue is named
  await mill.queues.purge();
  // @ts-expect-error -- a group is paused by queues.pause, not here
  await mill.queues.setAside("mail", { group: "g" });
  // @ts-expect-error -- a time, not its text
  await mill.queues.shed("mail", "2026-01-01");
  // @ts-expect-error -- a group has a number of weights, not a text
  await mill.queues.groupPut("mail", "tenant-7", { weight: "3" });
  // @ts-expect-error -- a pool is no transaction
  await mill.queues.list({ tx: {} });
  // @ts-expect-error -- it is a cursor, a text
  mill.queues.events({ since: new Date() });
  // @ts-expect-error -- what waits is counted as ready or as blocked
  expectTypeOf((await mill.queues.depth()).waiting);
}

export async function reasons(): Promise<void> {
  for (const reason of (await mill.jobs.why(id)) ?? []) {
    expectTypeOf(whyText(reason)).toEqualTypeOf<string>();
    if (reason.code === "paused") expectTypeOf(reason.because).toEqualTypeOf<string | undefined>();
    if (reason.code === "breakerOpen") expectTypeOf(reason.until).toEqualTypeOf<string>();
    if (reason.code === "signal") expectTypeOf(reason.signals).toEqualTypeOf<readonly string[]>();
    // @ts-expect-error -- there is no such code
    if (reason.code === "pause") break;
    // @ts-expect-error -- nor this one, which is called noWorker
    if (reason.code === "unhandled") break;
    // @ts-expect-error -- only a pause tells why
    console.log(reason.because);
    // @ts-expect-error -- of a retry the number of the attempt is told, not of a sleep
    if (reason.code === "sleep") console.log(reason.attempt);
  }
}

export async function jobs(): Promise<void> {
  expectTypeOf(await mill.jobs.get(id)).toEqualTypeOf<JobDetails | null>();
  expectTypeOf(await mill.jobs.list({ state: "failed", since: new Date(), limit: 10 })).toEqualTypeOf<JobRecord[]>();
  expectTypeOf(await mill.jobs.peek("mail", 5)).toEqualTypeOf<JobRecord[]>();
  expectTypeOf(await mill.jobs.count({ tenant: "t" })).toEqualTypeOf<JobCounts>();
  expectTypeOf(await mill.jobs.durations({ type: "send" })).toEqualTypeOf<RunStats[]>();
  expectTypeOf(await mill.jobs.why(id)).toEqualTypeOf<Reason[] | null>();
  expectTypeOf(await mill.jobs.steps(enqueued)).toEqualTypeOf<JobStep[]>();
  expectTypeOf(await mill.jobs.children(id, { limit: 5 })).toEqualTypeOf<ChildRecord[]>();
  expectTypeOf(await mill.jobs.decisions(enqueued)).toEqualTypeOf<DecisionRecord[]>();
  expectTypeOf(await mill.jobs.progress(id)).toEqualTypeOf<{ value: Json; updatedAt: Date } | null>();
  expectTypeOf(await mill.jobs.log(id)).toEqualTypeOf<JobLog>();
  expectTypeOf(await mill.jobs.failures({ queue: "mail", since: "2026-01-01" })).toEqualTypeOf<FailureGroup[]>();
  expectTypeOf(await mill.jobs.failureRetry({ fingerprint: "f", perSecond: 10 })).toEqualTypeOf<number>();
  expectTypeOf(await mill.jobs.replay({ since: new Date(), states: ["failed"] })).toEqualTypeOf<Replayed>();
  expectTypeOf(await mill.jobs.cancel({ queue: "mail", because: "a mistake" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.jobs.retry({ ids: [id] }, 3)).toEqualTypeOf<number>();
  expectTypeOf(await mill.jobs.retry({ type: "send", queue: "mail", perSecond: 5 })).toEqualTypeOf<number>();
  expectTypeOf(await mill.jobs.discard(enqueued, { by: "ann" })).toEqualTypeOf<boolean>();
  expectTypeOf(await mill.jobs.runNow(id)).toEqualTypeOf<boolean>();
  await mill.jobs.rewind(id, { to: "charge" });
  // @ts-expect-error -- ids are texts: a number would lose its last digits
  await mill.jobs.get(889772954049728512);
  // @ts-expect-error -- there is no such state
  await mill.jobs.list({ state: "completed" });
  // @ts-expect-error -- a time, not its text
  await mill.jobs.list({ since: "2026-01-01" });
  // @ts-expect-error -- a time or its text, not a number
  await mill.jobs.failures({ since: Date.now() });
  // @ts-expect-error -- since when is needed
  await mill.jobs.replay({ queue: "mail" });
  // @ts-expect-error -- those that were cancelled are not replayed
  await mill.jobs.replay({ since: new Date(), states: ["cancelled"] });
  // @ts-expect-error -- which jobs: their ids, or a type
  await mill.jobs.retry({ queue: "mail" });
  // @ts-expect-error -- one id is a list too
  await mill.jobs.retry({ ids: id });
  // @ts-expect-error -- to which step is needed
  await mill.jobs.rewind(id, {});
  // @ts-expect-error -- a definition is no job
  await mill.jobs.runNow({ type: "send" });
  // @ts-expect-error -- there may be no such job
  expectTypeOf((await mill.jobs.get(id)).job);
}

export async function schedules(): Promise<void> {
  expectTypeOf(await mill.schedules.list({ limit: 5 })).toEqualTypeOf<ScheduleRecord[]>();
  expectTypeOf(await mill.schedules.get("nightly")).toEqualTypeOf<ScheduleRecord>();
  expectTypeOf(await mill.schedules.next({ cron: "0 3 * * *" }, { count: 3 })).toEqualTypeOf<Date[]>();
  expectTypeOf(await mill.schedules.trigger("nightly", { by: "ann" })).toEqualTypeOf<JobId>();
  expectTypeOf(await mill.schedules.runs("nightly")).toEqualTypeOf<ScheduleRunRecord[]>();
  expectTypeOf(await mill.schedules.events()).toEqualTypeOf<ScheduleEvent[]>();
  expectTypeOf(await mill.schedules.durations("nightly", { windows: ["1d"] })).toEqualTypeOf<ScheduleStats[]>();
  expectTypeOf(await mill.schedules.undeclared()).toEqualTypeOf<string[]>();
  const range = { since: new Date(), until: new Date(), concurrency: 2 };
  expectTypeOf(await mill.schedules.backfill("nightly", range)).toEqualTypeOf<number>();
  await mill.schedules.pause("nightly", { by: "ann", because: "maintenance" });
  await mill.schedules.resume("nightly", { catchUp: true });
  await mill.schedules.calendarPut("holidays", ["2026-12-25"]);
  await mill.schedules.remove("nightly", {}, { tx });
  // @ts-expect-error -- a range of times, not of texts
  await mill.schedules.backfill("nightly", { since: "2026-01-01", until: "2026-02-01" });
  // @ts-expect-error -- until when is needed
  await mill.schedules.backfill("nightly", { since: new Date() });
  // @ts-expect-error -- there is no such rule
  await mill.schedules.next({ crontab: "0 3 * * *" });
  // @ts-expect-error -- days are texts such as 2026-12-25
  await mill.schedules.calendarPut("holidays", [new Date()]);
  // @ts-expect-error -- which schedule is needed
  await mill.schedules.runs();
  // @ts-expect-error -- it is told whether the missed ones run, by a boolean
  await mill.schedules.resume("nightly", { catchUp: "all" });
  // @ts-expect-error -- the id of a job, not the job
  expectTypeOf((await mill.schedules.trigger("nightly")).id);
}

export async function settings(): Promise<void> {
  await mill.types.put("render", { maxRunning: 2, attemptTimeout: "10m", resources: { gpu: 1 } });
  await mill.resources.put("gpu", { maxRunning: 4, rate: { perSecond: 1, burst: 5 } });
  expectTypeOf(await mill.resources.limits()).toEqualTypeOf<LimitRecord[]>();
  await mill.cell.put({ retentionSucceeded: "1d", maxAttempts: 5, payloadLimitBytes: 1_000_000 });
  // @ts-expect-error -- SQL says seconds, TypeScript says attemptTimeout
  await mill.types.put("render", { attemptTimeoutSeconds: 600 });
  // @ts-expect-error -- how many may wait is set for a queue
  await mill.types.put("render", { maxDepth: 5 });
  // @ts-expect-error -- a resource has nothing to retry
  await mill.resources.put("gpu", { maxAttempts: 5 });
  // @ts-expect-error -- limits are needed
  await mill.resources.put("gpu");
  // @ts-expect-error -- SQL says seconds, TypeScript says retentionSucceeded
  await mill.cell.put({ retentionSucceededSeconds: 86_400 });
  // @ts-expect-error -- a limit is of a queue, a type or a resource
  await mill.cell.put({ maxRunning: 5 });
}

export async function workers(): Promise<void> {
  expectTypeOf(await mill.workers.list()).toEqualTypeOf<ProcessRecord[]>();
  expectTypeOf(await mill.workers.pause({ worker: "mailer" }, { by: "ann" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.workers.drain({ process: "p" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.workers.resume({ process: "p", worker: "mailer" })).toEqualTypeOf<number>();
  expectTypeOf(await mill.workers.concurrency({ worker: "mailer" }, 2)).toEqualTypeOf<number>();
  await mill.workers.concurrency({ worker: "mailer" }, null);
  // @ts-expect-error -- which workers is needed
  await mill.workers.pause({});
  // @ts-expect-error -- which workers is needed
  await mill.workers.drain();
  // @ts-expect-error -- a target is an object
  await mill.workers.pause("mailer");
  // @ts-expect-error -- workers do not belong to a queue
  await mill.workers.pause({ queue: "mail" });
  // @ts-expect-error -- how many is needed; null gives it back
  await mill.workers.concurrency({ worker: "mailer" });
  // @ts-expect-error -- who and why are by and because
  await mill.workers.pause({ worker: "mailer" }, { reason: "the provider is down" });
}

export async function alerts(): Promise<void> {
  expectTypeOf(await mill.alerts.list()).toEqualTypeOf<AlertRecord[]>();
  expectTypeOf(await mill.alerts.rules()).toEqualTypeOf<AlertRuleRecord[]>();
  expectTypeOf(await mill.alerts.events({ limit: 10 })).toEqualTypeOf<AlertEvent[]>();
  expectTypeOf(await mill.alerts.hooks()).toEqualTypeOf<HookRecord[]>();
  expectTypeOf(await mill.alerts.hookPut("chat", { url: "https://example.org" })).toEqualTypeOf<{
    readonly secret?: string;
  }>();
  expectTypeOf(await mill.alerts.hookTest("chat")).toEqualTypeOf<JobId>();
  expectTypeOf(mill.alerts.worker({ name: "hooks" })).toEqualTypeOf<Worker>();
  await mill.alerts.put("old mail", { kind: "oldest", queue: "mail", seconds: 600, hooks: ["chat"] }, { by: "ann" });
  await mill.alerts.silence("old mail", "1h", { subject: "mail/send", by: "ann" });
  await mill.alerts.remove("old mail");
  // @ts-expect-error -- there is no such kind
  await mill.alerts.put("old mail", { kind: "age", seconds: 600 });
  // @ts-expect-error -- a kind is needed
  await mill.alerts.put("old mail", { queue: "mail" });
  // @ts-expect-error -- a rule says forSeconds
  await mill.alerts.put("old mail", { kind: "oldest", seconds: 600, for: "5m" });
  // @ts-expect-error -- hooks are a list of names
  await mill.alerts.put("old mail", { kind: "oldest", seconds: 600, hooks: "chat" });
  // @ts-expect-error -- for how long is needed
  await mill.alerts.silence("old mail");
  // @ts-expect-error -- for how long, not until when
  await mill.alerts.silence("old mail", new Date());
  // @ts-expect-error -- where to is needed
  await mill.alerts.hookPut("chat", { secret: "s" });
  // @ts-expect-error -- alerts are pending or firing
  expectTypeOf((await mill.alerts.list())[0]!.state === "resolved");
}

export async function cells(some: Cells): Promise<void> {
  expectTypeOf(mill.cells).toEqualTypeOf<Cells | undefined>();
  expectTypeOf(await some.list()).toEqualTypeOf<CellRecord[]>();
  expectTypeOf(await some.names()).toEqualTypeOf<readonly string[]>();
  expectTypeOf(await some.add(["c", "d"])).toEqualTypeOf<readonly string[]>();
  expectTypeOf(await some.move("mail", "b")).toEqualTypeOf<MoveResult>();
  expectTypeOf(await some.move("mail", "b", { dryRun: true })).toEqualTypeOf<MovePlan>();
  expectTypeOf(await some.drain("a")).toEqualTypeOf<DrainResult>();
  expectTypeOf(await some.drain("a", { dryRun: true })).toEqualTypeOf<DrainPlan>();
  expectTypeOf(await some.remove("a")).toEqualTypeOf<RemovePlan>();
  expectTypeOf(await some.anchor("public")).toEqualTypeOf<string>();
  expectTypeOf(await some.doctor({ fix: true })).toEqualTypeOf<CellFinding[]>();
  expectTypeOf(await some.whereIs("mail", "tenant-7")).toEqualTypeOf<string>();
  expectTypeOf(await some.engine("a")).toEqualTypeOf<Engine>();
  expectTypeOf(await some.partial(() => mill.queues.list())).toEqualTypeOf<PartialAnswer<QueueRecord[]>>();
  // @ts-expect-error -- a client of one database has no cells
  await mill.cells.list();
  // @ts-expect-error -- to which cell is needed
  await some.move("mail");
  // @ts-expect-error -- it is called dryRun
  await some.add("c", { rehearse: true });
  // @ts-expect-error -- what is asked is a function
  await some.partial(mill.queues.list());
  // @ts-expect-error -- a plan has moved nothing
  expectTypeOf((await some.drain("a", { dryRun: true })).moved);
}

export async function history(): Promise<void> {
  expectTypeOf(await mill.history({ queue: "mail", type: "send", last: "24h" })).toEqualTypeOf<HistoryPoint[]>();
  // @ts-expect-error -- it goes back from now: last, a duration
  await mill.history({ since: new Date() });
  // @ts-expect-error -- how far back, not since when
  await mill.history({ last: new Date() });
  // @ts-expect-error -- at is a Date
  expectTypeOf((await mill.history())[0]!.at).toEqualTypeOf<string>();
}

export function handler(): void {
  expectTypeOf(createHandler({ mill })).toExtend<QueueHandler>();
  createHandler({
    mill,
    basePath: "/admin/queue",
    user: async (request: IncomingMessage) => (request.headers.cookie ? { name: "ann", role: "admin" } : null),
    logger: false,
    rate: { perSecond: 100, burst: 200 },
    bodyMemoryBytes: 1_000_000,
    viewers: 10,
    webHooks: true,
  });
  expectTypeOf<HandlerOptions["mill"]>().toEqualTypeOf<Millrace>();
  expectTypeOf<User["role"]>().toEqualTypeOf<"reader" | "producer" | "worker" | "admin">();
  // @ts-expect-error -- a client is needed
  createHandler({});
  // @ts-expect-error -- a database is no client
  createHandler({ mill: "postgres://localhost/app" });
  // @ts-expect-error -- it is called basePath
  createHandler({ mill, path: "/admin/queue" });
  // @ts-expect-error -- there is no such role
  createHandler({ mill, user: () => ({ name: "ann", role: "owner" }) });
  // @ts-expect-error -- a user has a name, for the audit
  createHandler({ mill, user: () => ({ role: "admin" }) });
  // @ts-expect-error -- a rate says how many at once
  createHandler({ mill, rate: { perSecond: 100 } });
  // @ts-expect-error -- false, or something with warn and error
  createHandler({ mill, logger: "pino" });
}
