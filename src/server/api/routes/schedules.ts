import { z } from "../../zod.js";
import type { Engine } from "../../../db/engine.js";
import type { PutSchedule, ScheduleRecord } from "../../../db/schedule-engine.js";
import type { Transaction } from "../../../db/foreign.js";
import type { Json } from "../../../db/types.js";
import { describeRule } from "../../../schedule/describe-rule.js";
import { parseRule } from "../../../schedule/parse-rule.js";
import type { RuleInput } from "../../../schedule/rule.js";
import { given } from "../given.js";
import { pageBytes } from "../look.js";
import { type Call, route } from "../route.js";
import {
  because,
  counted,
  done,
  flag,
  dryRun,
  inCell,
  jobId,
  jsonValue,
  limitOf,
  listOf,
  time,
  timeInput,
  windows,
} from "../schemas.js";
import { upcoming } from "../upcoming.js";

const rule = z.looseObject({}).meta({
  id: "Rule",
  description: "one of cron, every, after, rrule, times and at, with its options: see docs/schedules.md",
});
const text = z.string().nullable();

const scheduleRecord = z
  .strictObject({
    name: z.string(),
    rule: jsonValue,
    job: z.looseObject({}),
    input: jsonValue,
    options: z.looseObject({}),
    revision: z.number().int(),
    version: z.number().int().nullable(),
    app: text,
    declaredBy: text,
    declaredAt: time.nullable(),
    createdAt: time,
    changedAt: time,
    pausedAt: time.nullable(),
    pausedBy: text,
    pausedBecause: text,
    finishedAt: time.nullable(),
    finishedBecause: text,
    health: z.enum(["healthy", "failing", "blocked", "paused", "stopped", "finished"]),
    message: text,
    error: jsonValue,
    nextSlot: time.nullable(),
    nextAttemptAt: time.nullable(),
    lastSlot: time.nullable(),
    lastAttemptAt: time.nullable(),
    lastSuccessAt: time.nullable(),
    failedAttempts: z.number().int(),
    failedRuns: z.number().int(),
    runs: z.number().int(),
    succeeded: z.number().int(),
    attempts: z.number().int(),
    totalSeconds: z.number(),
    lastSeconds: z.number().nullable(),
    averageSeconds: z.number().nullable(),
    missed: z.number().int(),
    openJobs: z.array(jobId),
    pending: z.number().int(),
    description: text.meta({ description: "the rule in words" }),
    ...inCell,
  })
  .meta({ id: "Schedule" });

const scheduleRun = z
  .strictObject({
    schedule: z.string(),
    slotAt: time,
    jobId,
    kind: z.enum(["slot", "late", "manual", "backfill"]),
    outcome: text,
    attempts: z.number().int().nullable(),
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    seconds: z.number().nullable(),
    error: jsonValue,
  })
  .meta({ id: "ScheduleRun" });

const scheduleEvent = z
  .strictObject({
    id: z.string(),
    at: time,
    schedule: z.string(),
    event: z.string(),
    slotAt: time.nullable(),
    slots: z.number().int().nullable(),
    by: text,
    because: text,
    ...inCell,
  })
  .meta({ id: "ScheduleEvent" });

const brief = flag
  .optional()
  .meta({ description: "without inputs, which are not read, and null: for lists, and for asking again" });
const listStep = 20;
const briefStep = 200;
const nameOf = ({ params }: Call): string => params["name"]!;
const noteOf = ({ identity, body }: Call<unknown, { readonly because?: string | undefined }>) => ({
  by: identity.name,
  ...given({ because: body.because }),
});
const described = <Record extends { readonly rule: Json }>(
  record: Record,
): Record & { description: string | null } => ({
  ...record,
  description: describe(record.rule),
});

function describe(of: unknown): string | null {
  try {
    return describeRule(parseRule(of));
  } catch {
    return null; // declared in SQL, and wrong: its health tells
  }
}

/** Read in steps, because each may have a megabyte of input, and no more than fit into a page; always one. */
async function listed(
  engine: Engine,
  {
    limit,
    cursor,
    brief,
  }: { readonly limit: number; readonly cursor?: string | undefined; readonly brief?: boolean | undefined },
): Promise<{ readonly items: readonly ScheduleRecord[]; readonly next?: string | undefined }> {
  const items: ScheduleRecord[] = [];
  let bytes = 0;
  for (;;) {
    const after = items.at(-1)?.name ?? cursor;
    const step = Math.min(brief ? briefStep : listStep, limit - items.length);
    const some = await engine.schedules.list({ limit: step, ...given({ after, brief }) });
    for (const one of some) {
      bytes += JSON.stringify([one.rule, one.job, one.input]).length;
      if (items.length > 0 && bytes > pageBytes) return { items, next: items.at(-1)!.name };
      items.push(one);
    }
    if (items.length === limit) return { items, next: items.at(-1)!.name };
    if (some.length < step) return { items };
  }
}

export const scheduleRoutes = [
  route({
    method: "GET",
    path: "/schedules",
    role: "reader",
    cells: "filtered",
    summary: "schedules by name, with what is known of their runs; fewer where their inputs are large",
    query: z.strictObject({ limit: limitOf(1000, 100), cursor: z.string().optional(), brief }),
    answer: listOf(scheduleRecord),
    async handle({ mill, query }) {
      const { items, next } = await listed(mill.engine, query);
      return { items: items.map(described), ...given({ next }) };
    },
  }),
  route({
    method: "POST",
    path: "/schedules/preview",
    role: "reader",
    summary:
      "when a rule would run next, and the rule in words; stores nothing. It looks for a second: where slots are rare there may be fewer",
    body: z.strictObject({ rule, count: z.number().int().min(1).max(1000).default(5), from: timeInput.optional() }),
    answer: z.strictObject({ items: z.array(time), description: text }),
    async handle({ mill: { engine }, body }) {
      const parsed = parseRule(body.rule);
      const now = (await engine.schedules.now()).getTime();
      const items = await upcoming(engine, parsed, {
        createdAt: now,
        after: body.from?.getTime() ?? now,
        count: body.count,
      });
      return { items, description: describeRule(parsed) };
    },
  }),
  route({
    method: "GET",
    path: "/schedules/{name}",
    role: "reader",
    summary: "one schedule",
    query: z.strictObject({ brief }),
    answer: scheduleRecord,
    async handle({ mill, params, query }) {
      const name = params["name"]!;
      const [found] = query.brief ? await mill.engine.schedules.list({ name, brief: true }) : [];
      return described(found ?? (await mill.schedules.get(name)));
    },
  }),
  route({
    method: "PUT",
    path: "/schedules/{name}",
    role: "producer",
    summary: "create a schedule, or change it; repeating the request changes nothing",
    body: z.strictObject({
      rule,
      job: z
        .looseObject({ type: z.string() })
        .meta({ description: "the type, and options of an enqueue that do not name a time" }),
      input: z.unknown().optional(),
      options: z
        .looseObject({})
        .optional()
        .meta({ description: "overlap, missed, afterFailure, maxRuns, keepRuns: see docs/schedules.md" }),
      version: z.number().int().optional(),
      app: z.string().optional().meta({ description: "the application it belongs to" }),
    }),
    answer: z.strictObject({
      name: z.string(),
      change: z.enum(["created", "changed", "unchanged", "older"]),
      next: z.array(time),
    }),
    async handle(call) {
      const { mill, body, identity, act } = call;
      const name = nameOf(call);
      const parsed = parseRule(body.rule as unknown as RuleInput);
      const next = await mill.schedules.next(body.rule as unknown as RuleInput);
      if (next.length === 0) await mill.schedules.mustBeKnown(name, parsed, undefined);
      const { input, version, app } = body;
      await mill.inputs.check([{ type: body.job.type, input, headers: body.job["headers"] }]);
      const schedule = {
        rule: parsed,
        job: body.job,
        options: body.options ?? {},
        by: identity.name,
        ...given({ input, version, app }),
      };
      const { change } = await act(
        `schedule ${name}`,
        (tx) => mill.engine.schedules.put(name, schedule as unknown as PutSchedule, { tx }),
        ["schedule", name],
      );
      return { name, change, next };
    },
  }),
  route({
    method: "DELETE",
    path: "/schedules/{name}",
    role: "admin",
    summary: "delete a schedule; jobs it has made go on",
    body: z.strictObject({ because }),
    answer: done,
    async handle(call) {
      await call.act(
        `schedule ${nameOf(call)}`,
        (tx) => call.mill.engine.schedules.remove(nameOf(call), noteOf(call), { tx }),
        ["schedule", nameOf(call)],
      );
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/schedules/{name}/pause",
    role: "admin",
    summary: "stop making runs until it is resumed",
    body: z.strictObject({ because }),
    answer: done,
    async handle(call) {
      await call.act(
        `schedule ${nameOf(call)}`,
        (tx) => call.mill.engine.schedules.pause(nameOf(call), noteOf(call), { tx }),
        ["schedule", nameOf(call)],
      );
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/schedules/{name}/resume",
    role: "admin",
    summary: "continue with the next slot; with `catchUp`, the slots in between are treated as missed",
    body: z.strictObject({ because, catchUp: z.boolean().default(false) }),
    answer: done,
    async handle(call) {
      const note = { ...noteOf(call), catchUp: call.body.catchUp };
      await call.act(
        `schedule ${nameOf(call)}`,
        (tx) => call.mill.engine.schedules.resume(nameOf(call), note, { tx }),
        ["schedule", nameOf(call)],
      );
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/schedules/{name}/trigger",
    role: "admin",
    summary: "run it now, even if a run is in progress",
    body: z.strictObject({ because }),
    answer: z.strictObject({ id: jobId }),
    handle: async (call) => ({
      id: await call.act(`schedule ${nameOf(call)}`, (tx) =>
        call.mill.engine.schedules.trigger(nameOf(call), noteOf(call), { tx }),
      ),
    }),
  }),
  route({
    method: "POST",
    path: "/schedules/{name}/backfill",
    role: "admin",
    summary: "make the runs of past slots that have none, at most `concurrency` of them at once",
    body: z.strictObject({
      since: timeInput,
      until: timeInput,
      concurrency: z.number().int().min(1).max(1000).default(1),
      because,
      dryRun,
    }),
    answer: counted,
    async handle(call) {
      const { since, until, concurrency } = call.body;
      const backfill = (tx: Transaction) =>
        call.mill.schedules.backfill(nameOf(call), { since, until, concurrency, ...noteOf(call) }, { tx });
      return {
        count: call.body.dryRun ? await call.pretend(backfill) : await call.act(`schedule ${nameOf(call)}`, backfill),
        isExact: true,
      };
    },
  }),
  route({
    method: "GET",
    path: "/schedules/{name}/runs",
    role: "reader",
    summary: "its latest runs, newest first",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(scheduleRun),
    handle: async (call) => ({ items: await call.mill.engine.schedules.runs(nameOf(call), call.query.limit) }),
  }),
  route({
    method: "GET",
    path: "/schedules/{name}/events",
    role: "reader",
    summary: "what happened to it, newest first",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(scheduleEvent),
    handle: async (call) => ({ items: await call.mill.engine.schedules.events(nameOf(call), call.query.limit) }),
  }),
  route({
    method: "GET",
    path: "/schedules/{name}/durations",
    role: "reader",
    summary: "how many of its runs ended, and how long they took: of the latest, and within windows up to now",
    query: z.strictObject({ runs: limitOf(1000, 10), windows: windows.optional() }),
    answer: listOf(
      z
        .strictObject({
          windowSeconds: z.number().nullable().meta({ description: "null: of the latest runs, however long ago" }),
          runs: z.number().int(),
          succeeded: z.number().int(),
          attempts: z.number().int(),
          totalSeconds: z.number(),
          averageSeconds: z.number().nullable(),
        })
        .meta({ id: "ScheduleDurations" }),
    ),
    handle: async (call) => ({
      items: await call.mill.engine.schedules.durations(nameOf(call), {
        runs: call.query.runs,
        ...given({ windows: call.query.windows }),
      }),
    }),
  }),
  route({
    method: "GET",
    path: "/schedule-events",
    role: "reader",
    summary: "what happened to all schedules, newest first",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(scheduleEvent),
    handle: async ({ mill, query }) => ({ items: await mill.engine.schedules.events(undefined, query.limit) }),
  }),
  route({
    method: "PUT",
    path: "/calendars/{name}",
    role: "admin",
    summary: "name days on which schedules that have this calendar make no run; none forgets it",
    body: z.strictObject({ days: z.array(z.iso.date()).max(10_000) }),
    answer: done,
    async handle(call) {
      await call.act(
        `calendar ${nameOf(call)}`,
        (tx) => call.mill.engine.schedules.calendarPut(nameOf(call), call.body.days, { tx }),
        ["calendar", nameOf(call)],
      );
      return { done: true };
    },
  }),
  route({
    method: "GET",
    path: "/schedules/{name}/next",
    role: "reader",
    summary: "when it runs next. It looks for a second: where slots are rare there may be fewer",
    query: z.strictObject({ count: limitOf(1000, 5) }),
    answer: listOf(time),
    async handle(call) {
      const { engine, schedules } = call.mill;
      const [now, { rule: stored, createdAt, lastSlot, nextSlot }] = await Promise.all([
        engine.schedules.now(),
        schedules.get(nameOf(call)),
      ]);
      const parsed = parseRule(stored);
      if ("after" in parsed) return { items: nextSlot === null ? [] : [nextSlot] };
      const after = Math.max(now.getTime(), lastSlot?.getTime() ?? 0);
      return {
        items: await upcoming(engine, parsed, { createdAt: createdAt.getTime(), after, count: call.query.count }),
      };
    },
  }),
];
