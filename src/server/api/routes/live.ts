import { once } from "node:events";
import { z } from "../../zod.js";
import type { Moment } from "../../live/live.js";
import { ApiError } from "../problem.js";
import { toJsonText } from "../json.js";
import { route } from "../route.js";
import {
  definitionRecord,
  limitOf,
  listOf,
  moment,
  overview,
  point,
  processRecord,
  runningJob,
  unhandledType,
  workerRecord,
} from "../schemas.js";

/** A proxy that hears nothing for a minute closes the connection. */
const beatMs = 15_000;
/** A viewer this far behind has a dead connection: it is let go instead of being kept in memory. */
const mostBehindBytes = 1_048_576;

export const liveRoutes = [
  route({
    method: "GET",
    path: "/overview",
    role: "reader",
    summary: "all queues at one moment",
    answer: overview,
    handle: async ({ live }) => (await live.now()).overview,
  }),
  route({
    method: "GET",
    path: "/live",
    role: "reader",
    summary:
      "every second what it looks like, as server-sent events: `sample` with `{ overview, queues }`, two seconds apart while nothing changes, and `blind` while the database does not answer",
    answer: { raw: "text/event-stream", shape: moment },
    async handle({ auth, live, exchange, identity, shares: { viewers } }) {
      const { response, signal, stopping, request } = exchange;
      if (!viewers.take(identity.name))
        throw new ApiError(
          "busy",
          `"${identity.name}" has ${viewers.heldBy(identity.name)} viewers already`,
          "close a page of the dashboard, or look again later",
          {
            "retry-after": "10",
          },
        );
      response.once("close", () => viewers.give(identity.name));
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
      });
      if (request.method === "HEAD") return;
      const show = (moment: Moment | undefined): void => {
        if (response.writableLength > mostBehindBytes || !auth.knows(exchange)) response.destroy();
        else if (moment) response.write(`event: sample\ndata: ${toJsonText(moment)}\n\n`);
        else response.write("event: blind\ndata: {}\n\n");
      };
      response.write("retry: 2000\n\n");
      if (live.last) show(live.last);
      const beat = setInterval(() => response.write(":\n\n"), beatMs);
      const leave = live.watch(show);
      const end = AbortSignal.any([signal, stopping]);
      if (!end.aborted) await once(end, "abort");
      leave();
      clearInterval(beat);
      response.end();
    },
  }),
  route({
    method: "GET",
    path: "/history",
    role: "reader",
    summary:
      "what was seen of a queue, or of all, within the last seconds: by the second up to ten minutes, by the minute up to a day",
    query: z.strictObject({ queue: z.string().optional(), seconds: limitOf(86_400, 600) }),
    answer: z.strictObject({ step: z.number().int(), points: z.array(point) }),
    async handle({ live, query }) {
      await live.now();
      const { step, points } = live.history(query.queue, query.seconds);
      return { step, points: points.map(({ at, ...rest }) => ({ at: new Date(at), ...rest })) };
    },
  }),
  route({
    method: "GET",
    path: "/running",
    role: "reader",
    summary: "jobs that somebody holds, those that began first ahead",
    query: z.strictObject({ limit: limitOf(1000, 100) }),
    answer: listOf(runningJob),
    handle: async ({ mill, query }) => ({ items: await mill.engine.server.running(query.limit) }),
  }),
  route({
    method: "GET",
    path: "/workers",
    role: "reader",
    summary: "those who hold jobs, by the names of their claims; processes are at /processes",
    answer: listOf(workerRecord),
    handle: async ({ mill }) => ({
      items: (await mill.engine.server.workers()).map((worker) => ({ ...worker, host: hostOf(worker.name) })),
    }),
  }),
  route({
    method: "GET",
    path: "/processes",
    role: "reader",
    summary: "processes that run workers, idle ones too, by their heartbeat; those not seen for a day are forgotten",
    answer: listOf(processRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.server.processes() }),
  }),
  route({
    method: "GET",
    path: "/definitions",
    role: "reader",
    summary: "what workers have declared of the types they handle: queue, defaults, version and schema of the input",
    query: z.strictObject({ type: z.string().optional() }),
    answer: listOf(definitionRecord),
    handle: async ({ mill, query }) => ({ items: await mill.engine.definitions(query.type) }),
  }),
  route({
    method: "GET",
    path: "/unhandled",
    role: "reader",
    summary: "types of which something has been ready for a while, and that no worker that is known handles",
    query: z.strictObject({ minAgeSeconds: z.coerce.number().min(0).max(1e9).default(60) }),
    answer: listOf(unhandledType),
    handle: async ({ mill, query }) => ({ items: await mill.engine.server.unhandled(query.minAgeSeconds) }),
  }),
];

/** The host in a name that a worker gave itself: "host:4711". */
function hostOf(name: string | null): string | null {
  return /^(.+):\d+$/.exec(name ?? "")?.[1] ?? null;
}
