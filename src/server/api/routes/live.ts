import { once } from "node:events";
import { z } from "../../zod.js";
import { type Point, liveSeconds, pointOf } from "../../live/history.js";
import type { Moment } from "../../live/moment.js";
import { given } from "../given.js";
import { ApiError } from "../problem.js";
import { toJsonText } from "../json.js";
import { route } from "../route.js";
import {
  definitionRecord,
  jobId,
  limitOf,
  listOf,
  moment,
  overview,
  point,
  runningJob,
  unhandledType,
} from "../schemas.js";

/** Of the jobs on a page of a list. */
const ids = z
  .string()
  .max(10_000)
  .transform((text) => text.split(","))
  .pipe(z.array(jobId).max(100));

/** A proxy that hears nothing for a minute closes the connection. */
const beatMs = 15_000;
/** A viewer this far behind has a dead connection: it is let go instead of being kept in memory. */
const maxBehindBytes = 1_048_576;

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
      "the live numbers, as server-sent events: `sample` with `{ overview, queues }` each second, or every two seconds while nothing changes; `blind` while the database does not answer; and `again` before the stream ends, if you may reconnect at once",
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
        "cache-control": "no-store, no-transform", // what packs answers would keep them back
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
      });
      if (request.method === "HEAD") return;
      const show = (moment: Moment | undefined): void => {
        if (response.writableLength > maxBehindBytes || !auth.knows(exchange)) response.destroy();
        else if (moment) response.write(`event: sample\ndata: ${toJsonText(moment)}\n\n`);
        else response.write("event: blind\ndata: {}\n\n");
      };
      response.write("retry: 2000\n\n");
      if (live.last) show(live.last);
      const beat = setInterval(() => response.write(":\n\n"), beatMs);
      const leave = live.watch(show);
      const again = new AbortController();
      const timer = auth.longestMs === undefined ? undefined : setTimeout(() => again.abort(), auth.longestMs);
      const end = AbortSignal.any([signal, stopping, again.signal]);
      if (!end.aborted) await once(end, "abort");
      leave();
      clearInterval(beat);
      clearTimeout(timer);
      if (again.signal.aborted) response.write("event: again\ndata: {}\n\n");
      response.end();
    },
  }),
  route({
    method: "GET",
    path: "/history",
    role: "reader",
    cells: "named",
    summary:
      "the history of a queue, of a type of it, or of all queues, over the last seconds: by the second up to ten minutes (not of a type), by the minute up to a day, by the hour up to thirty days; there is no point for times at which no process looked",
    query: z.strictObject({
      queue: z.string().optional(),
      type: z.string().optional(),
      seconds: limitOf(2_592_000, 600),
    }),
    answer: z.strictObject({ step: z.number().int(), points: z.array(point) }),
    async handle({ live, mill, query: { queue, type, seconds } }) {
      const wire = ({ at, ...rest }: Point) => ({ at: new Date(at), ...rest });
      if (seconds <= liveSeconds && type === undefined) {
        await live.now();
        return { step: 1, points: live.history(queue, seconds).map(wire) };
      }
      const stored = await mill.engine.historyGet(given({ queue, type, seconds }));
      return { step: seconds <= 86_400 ? 60 : 3600, points: stored.map((one) => wire(pointOf(one))) };
    },
  }),
  route({
    method: "GET",
    path: "/running",
    role: "reader",
    cells: "filtered",
    summary: "running jobs, oldest first",
    query: z.strictObject({
      limit: limitOf(1000, 100),
      ids: ids.optional().meta({ description: "only those of these jobs, at most 100, with commas between them" }),
    }),
    answer: listOf(runningJob),
    handle: async ({ mill, query }) => ({ items: await mill.engine.server.running(query.limit, query.ids) }),
  }),
  route({
    method: "GET",
    path: "/definitions",
    role: "reader",
    cells: "filtered",
    summary: "what workers have declared about the types they handle: queue, defaults, version and schema of the input",
    query: z.strictObject({ type: z.string().optional() }),
    answer: listOf(definitionRecord),
    handle: async ({ mill, query }) => ({ items: await mill.engine.definitions(query.type) }),
  }),
  route({
    method: "GET",
    path: "/names",
    role: "reader",
    cells: "filtered",
    summary:
      "names of queues, types, groups or tenants that contain a text, to complete a search. Groups and tenants are those of the newest 5,000 jobs, and groups with settings",
    query: z.strictObject({
      kind: z.enum(["queue", "type", "group", "tenant"]),
      part: z.string().max(200).default(""),
      limit: limitOf(100, 20),
    }),
    answer: listOf(z.string()),
    handle: async ({ mill, query }) => ({
      items: await mill.engine.server.names(query.kind, query.part, query.limit),
    }),
  }),
  route({
    method: "GET",
    path: "/unhandled",
    role: "reader",
    cells: "filtered",
    summary: "types that have had ready jobs for a while, and that no known worker handles",
    query: z.strictObject({ minAgeSeconds: z.coerce.number().min(0).max(1e9).default(60) }),
    answer: listOf(unhandledType),
    handle: async ({ mill, query }) => ({ items: await mill.engine.server.unhandled(query.minAgeSeconds) }),
  }),
];
