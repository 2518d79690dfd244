import { z } from "../../zod.js";
import { QueueNotFoundError } from "../../../db/errors.js";
import type { Transaction } from "../../../db/foreign.js";
import type { GroupOptions, PauseRecord, PurgeStep, QueuePart, QueueRecord } from "../../../db/types.js";
import { given } from "../given.js";
import { pageBytes, toldReasons } from "../look.js";
import { optionSchemas } from "../option-schemas.js";
import type { Call } from "../route.js";
import { route } from "../route.js";
import {
  because,
  counted,
  done,
  dryRun,
  flag,
  inCell,
  jobId,
  jobRecord,
  limitOf,
  listOf,
  queueDetails,
  queueRecord,
  rate,
  reason,
  time,
  timeInput,
} from "../schemas.js";

const part = { type: z.string().optional(), group: z.string().optional() };
const note = z.strictObject({ because });
const noted = (call: Call<unknown, { readonly because?: string | undefined }>) => ({
  by: call.identity.name,
  ...(call.body.because === undefined ? {} : { because: call.body.because }),
});
const exactly = (count: number) => ({ count, isExact: true });
const typeDepth = z
  .strictObject({
    type: z.string(),
    waiting: z.number().int(),
    ready: z.number().int(),
    blocked: z.number().int(),
    delayed: z.number().int(),
    running: z.number().int(),
    oldestAgeSeconds: z.number().nullable(),
  })
  .meta({ id: "TypeDepth" });
const groupDepth = z
  .strictObject({
    group: z.string().nullable(),
    waiting: z.number().int(),
    ready: z.number().int(),
    blocked: z.number().int(),
    delayed: z.number().int(),
    running: z.number().int(),
    oldestAgeSeconds: z.number().nullable(),
    share: z.number(),
    estimated: z.boolean(),
    settings: z
      .strictObject({
        weight: z.number().int(),
        maxRunning: z.number().int().nullable(),
        rate: rate.nullable(),
      })
      .nullable()
      .meta({ description: "what was set for the group itself; null when nothing was" }),
  })
  .meta({ id: "GroupDepth" });
const cellGroup = z
  .strictObject({
    group: z.string(),
    queues: z.array(z.string()),
    waiting: z.number().int(),
    ready: z.number().int(),
    blocked: z.number().int(),
    delayed: z.number().int(),
    running: z.number().int(),
    oldestAgeSeconds: z.number().nullable(),
    estimated: z.boolean(),
  })
  .meta({ id: "CellGroup" });
const queueOptions = z.strictObject(optionSchemas("queue")).meta({ id: "QueueOptions" });
const groupOptions = z.strictObject(optionSchemas("group"));
const queueEvent = z
  .strictObject({
    at: time,
    queue: z.string(),
    event: z.string(),
    by: z.string().optional(),
    because: z.string().optional(),
    type: z.string().optional(),
    group: z.string().optional(),
    jobId: jobId.optional(),
    stage: z.string().optional(),
    jobs: z.number().int().optional(),
    ...inCell,
  })
  .meta({ id: "QueueEvent" });

export const queueRoutes = [
  route({
    method: "GET",
    path: "/queues",
    role: "reader",
    cells: "filtered",
    summary: "all queues, by name: state, counts, rates and what is paused",
    query: z.strictObject({ limit: limitOf(10_000, 1000), cursor: z.string().optional() }),
    answer: listOf(queueRecord),
    async handle(call) {
      const { limit, cursor } = call.query;
      const after = (await described(call))
        .filter(({ name }) => cursor === undefined || name > cursor)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const items = after.slice(0, limit);
      return { items, ...(after.length > limit ? { next: items.at(-1)!.name } : {}) };
    },
  }),
  route({
    method: "GET",
    path: "/queues/{queue}",
    role: "reader",
    cells: "named",
    summary: "one queue, with how many of its jobs wait, are blocked, are delayed and run right now",
    answer: queueDetails,
    async handle(call) {
      const found = (await described(call)).find(({ name }) => name === call.params["queue"]);
      if (!found)
        throw new QueueNotFoundError(
          `there is no queue "${call.params["queue"]}"`,
          "GET /queues tells those there are; PUT makes one",
        );
      return { ...found, depth: await call.mill.engine.queueDepth(found.name) };
    },
  }),
  route({
    method: "GET",
    path: "/queues/{queue}/why",
    role: "reader",
    cells: "named",
    summary:
      "why jobs of a queue wait, or of a type or a group of it; reasons that hold all of them come first. docs/queue-states.md lists the codes",
    query: z.strictObject(part),
    answer: listOf(reason),
    handle: async ({ mill, params, query }) => ({
      items: toldReasons(await mill.engine.queueWhy(params["queue"], partOf(query))),
    }),
  }),
  route({
    method: "PUT",
    path: "/queues/{queue}",
    role: "admin",
    summary: "create a queue, or change its options; null removes one. Returns all of them; see docs/options.md",
    body: queueOptions,
    answer: z.strictObject({ name: z.string(), options: z.unknown() }),
    async handle({ mill, params, body, act }) {
      const name = params["queue"]!;
      return act(`queue ${name}`, async (tx) => ({ name, options: await mill.engine.queuePut(name, body, { tx }) }), [
        "queue",
        name,
      ]);
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/pause",
    role: "admin",
    summary: "stop handing out jobs of a queue, or of a type or a group of it; running jobs go on",
    body: z.strictObject({ ...part, because }),
    answer: done,
    async handle(call) {
      const name = call.params["queue"]!;
      await call.act(
        partName(name, call.body),
        (tx) => call.mill.engine.queuePause(name, { ...partOf(call.body), ...noted(call) }, { tx }),
        ["queue", name],
      );
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/resume",
    role: "admin",
    summary: "resume a paused queue, type or group",
    body: z.strictObject({ ...part, because }),
    answer: done,
    async handle(call) {
      const name = call.params["queue"]!;
      await call.act(
        partName(name, call.body),
        (tx) => call.mill.engine.queueResume(name, { ...partOf(call.body), ...noted(call) }, { tx }),
        ["queue", name],
      );
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/close",
    role: "admin",
    summary: "accept no more jobs in a queue; it is finished when its last job has ended",
    body: note,
    answer: done,
    async handle(call) {
      const name = call.params["queue"]!;
      await call.act(`queue ${name}`, (tx) => call.mill.engine.queueClose(name, noted(call), { tx }), ["queue", name]);
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/open",
    role: "admin",
    summary: "accept jobs in a closed queue again, as long as it has not finished",
    body: note,
    answer: done,
    async handle(call) {
      const name = call.params["queue"]!;
      await call.act(`queue ${name}`, (tx) => call.mill.engine.queueOpen(name, noted(call), { tx }), ["queue", name]);
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/purge",
    role: "admin",
    summary: "drop all waiting jobs, at the same cost however many they are",
    body: z.strictObject({ dryRun }),
    answer: counted,
    async handle({ mill: { engine }, params, body, act }) {
      const name = params["queue"]!;
      if (body.dryRun) {
        const { ready, blocked, delayed } = await engine.queueDepth(name);
        return exactly(ready + blocked + delayed);
      }
      let count = 0;
      let next: PurgeStep | null = {};
      while (next) {
        const from: PurgeStep = next;
        count += await act(`queue ${name}`, async (tx) => {
          const step = await engine.queuePurgeStep(name, from, { tx });
          next = step.next;
          return step.jobs;
        });
      }
      return exactly(count);
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/shed",
    role: "admin",
    summary:
      "drop the waiting jobs, or those of a type or a group, that were enqueued before a time; more than 100,000, and those of groups, leave the count later",
    body: z.strictObject({ before: timeInput, ...part, dryRun }),
    answer: counted,
    async handle({ mill, params, body, act, pretend }) {
      const name = params["queue"]!;
      const shed = (tx: Transaction) => mill.engine.queueShed(name, body.before, partOf(body), { tx });
      const count = body.dryRun ? await pretend(shed) : await act(partName(name, body), shed);
      return { count, isExact: body.group === undefined && count < 100_000 };
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/set-aside",
    role: "admin",
    summary: "let jobs that arrive from now on go before those that wait, at the same cost however many wait",
    body: z.strictObject({ type: z.string().optional(), dryRun }),
    answer: counted,
    async handle({ mill, params, body, act, pretend }) {
      const name = params["queue"]!;
      const setAside = (tx: Transaction) =>
        mill.engine.queueSetAside(name, body.type === undefined ? {} : { type: body.type }, { tx });
      return exactly(body.dryRun ? await pretend(setAside) : await act(partName(name, body), setAside));
    },
  }),
  route({
    method: "POST",
    path: "/queues/{queue}/redrive",
    role: "admin",
    summary: "move waiting dead letters back to where they came from, or to a target",
    body: z.strictObject({
      target: z.string().optional(),
      limit: z.number().int().min(1).max(10_000).default(1000),
      dryRun,
    }),
    answer: counted,
    async handle({ mill, params, body, act, pretend }) {
      const name = params["queue"]!;
      const { target, limit } = body;
      const redrive = (tx: Transaction) =>
        mill.engine.queueRedrive(name, { limit, ...(target === undefined ? {} : { target }) }, { tx });
      const count = body.dryRun ? await pretend(redrive) : await act(`queue ${name}`, redrive);
      return { count, isExact: count < limit };
    },
  }),
  route({
    method: "GET",
    path: "/queues/{queue}/types",
    role: "reader",
    cells: "named",
    summary: "how many jobs of a queue wait, are delayed and run, for each type",
    answer: listOf(typeDepth),
    handle: async ({ mill, params }) => ({ items: await mill.engine.queueTypes(params["queue"]) }),
  }),
  route({
    method: "GET",
    path: "/queues/{queue}/groups",
    role: "reader",
    cells: "named",
    summary:
      "how many jobs of a queue wait, are delayed and run, for each group, the one with the most waiting jobs first",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(groupDepth),
    async handle({ mill: { engine }, params, query }) {
      const [groups, set] = await Promise.all([engine.queueGroups(params["queue"], query.limit), engine.groups()]);
      const settings = new Map(
        set.filter(({ queue }) => queue === params["queue"]).map(({ queue: _queue, group, ...rest }) => [group, rest]),
      );
      return { items: groups.map((one) => ({ ...one, settings: settings.get(one.group ?? "") ?? null })) };
    },
  }),
  route({
    method: "GET",
    path: "/groups",
    role: "reader",
    cells: "filtered",
    summary:
      "how many jobs each group has in all queues together, the group with the most waiting jobs first; estimated from one sample if more than 10,000 jobs wait",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(cellGroup),
    handle: async ({ mill, query }) => ({ items: await mill.engine.server.cellGroups(query.limit) }),
  }),
  route({
    method: "PUT",
    path: "/queues/{queue}/groups/{group}",
    role: "admin",
    summary: "set the options of a group; null resets one",
    body: groupOptions,
    answer: z.looseObject({}),
    async handle({ mill, params, body, act }) {
      const { queue, group } = params as { queue: string; group: string };
      return act(
        `queue ${queue}, group ${group}`,
        (tx) => mill.engine.groupPut(queue, group, given(body) as GroupOptions, { tx }),
        ["group", queue, group],
      );
    },
  }),
  route({
    method: "GET",
    path: "/queues/{queue}/peek",
    role: "reader",
    cells: "named",
    summary: "the jobs a claim would look at next, untouched; fewer where their inputs are large",
    query: z.strictObject({
      limit: limitOf(1000, 10),
      brief: flag.optional().meta({
        description: "without inputs, results, headers, sources and stacks, which are null then: for lists",
      }),
    }),
    answer: listOf(jobRecord),
    handle: async ({ mill, params, query: { limit, brief } }) => ({
      items: brief
        ? await mill.engine.server.peekBrief(params["queue"]!, limit)
        : await mill.engine.server.peek(params["queue"]!, limit, pageBytes),
    }),
  }),
  route({
    method: "GET",
    path: "/queues/{queue}/events",
    role: "reader",
    cells: "named",
    summary:
      "what happened to a queue since the cursor of an earlier response, or all events that are kept; `next` is always there",
    query: z.strictObject({ cursor: z.string().max(10_000).optional() }),
    answer: z.strictObject({ items: z.array(queueEvent), next: z.string() }),
    async handle({ mill, params, query }) {
      const { events, cursor } = await mill.engine.queueEvents(query.cursor);
      return { items: events.filter(({ queue }) => queue === params["queue"]), next: cursor };
    },
  }),
  route({
    method: "GET",
    path: "/events",
    role: "reader",
    cells: "filtered",
    summary:
      "what happened to all queues since the cursor of an earlier response, or all events that are kept; `next` is always there",
    query: z.strictObject({ cursor: z.string().max(10_000).optional() }),
    answer: z.strictObject({ items: z.array(queueEvent), next: z.string() }),
    async handle({ mill, query }) {
      const { events, cursor } = await mill.engine.queueEvents(query.cursor);
      return { items: events, next: cursor };
    },
  }),
  route({
    method: "GET",
    path: "/stages",
    role: "reader",
    cells: "filtered",
    summary: "the stages of queues that hold jobs",
    answer: listOf(
      z
        .strictObject({ queue: z.string(), stage: z.string(), jobs: z.number().int(), since: time, ...inCell })
        .meta({ id: "Stage" }),
    ),
    handle: async ({ mill }) => ({ items: await mill.engine.stages() }),
  }),
  ...(["release", "cancel"] as const).map((verb) =>
    route({
      method: "POST",
      path: `/queues/{queue}/stages/{stage}/${verb}`,
      role: "admin",
      summary: verb === "release" ? "release the jobs of a stage" : "cancel the jobs of a stage",
      body: z.strictObject({ because, dryRun }),
      answer: counted,
      async handle(call) {
        const { queue, stage } = call.params as { queue: string; stage: string };
        if (call.body.dryRun)
          return exactly(
            (await call.mill.engine.stages()).find((one) => one.queue === queue && one.stage === stage)?.jobs ?? 0,
          );
        const count = await call.act(`queue ${queue}, stage ${stage}`, (tx) =>
          verb === "release"
            ? call.mill.engine.stageRelease(queue, stage, noted(call), { tx })
            : call.mill.engine.stageCancel(queue, stage, noted(call), { tx }),
        );
        return exactly(count);
      },
    }),
  ),
];

/** Queues with what the sampler knows of them. */
async function described({ mill, live, cell }: Call): Promise<(QueueRecord & Record<string, unknown>)[]> {
  const [queues, pauses, all] = await Promise.all([mill.engine.queues(), mill.engine.pauses(), live.now()]);
  const moment = cell === undefined ? all : live.cells.get(cell);
  const seen = new Map(moment?.queues.map((queue) => [queue.queue, queue]));
  const paused = new Map<string, PauseRecord[]>();
  for (const pause of pauses) {
    const list = paused.get(pause.queue);
    if (list) list.push(pause);
    else paused.set(pause.queue, [pause]);
  }
  return queues.map((queue) => {
    const { oldestReadySeconds = null, in: made = null, out = null, failed = null } = seen.get(queue.name) ?? {};
    return { ...queue, oldestReadySeconds, in: made, out, failed, pauses: paused.get(queue.name) ?? [] };
  });
}

type GivenPart = { readonly type?: string | undefined; readonly group?: string | undefined };

function partOf({ type, group }: GivenPart): QueuePart {
  return { ...(type === undefined ? {} : { type }), ...(group === undefined ? {} : { group }) };
}

/** Its name in the audit. */
function partName(queue: string, { type, group }: GivenPart): string {
  return [`queue ${queue}`, type === undefined ? "" : `type ${type}`, group === undefined ? "" : `group ${group}`]
    .filter(Boolean)
    .join(", ");
}
