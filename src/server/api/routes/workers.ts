import { z } from "../../zod.js";
import type { DecisionNote, SettingsName, WorkerTarget } from "../../../db/types.js";
import { given } from "../given.js";
import { type Call, route } from "../route.js";
import { because, listOf, processRecord, workerRecord } from "../schemas.js";

const target = {
  process: z.string().optional().meta({ description: "the id of a process; any when it is left out" }),
  worker: z.string().optional().meta({ description: "the name of workers; all of the process when it is left out" }),
};
const answer = z.strictObject({ workers: z.number().int().meta({ description: "how many workers it is for" }) });

type Body = { readonly process?: string | undefined; readonly worker?: string | undefined };
/** Without a process and a name, the database refuses it, and says what to give. */
const targetOf = ({ process, worker }: Body): WorkerTarget => given({ process, worker });
const noted = ({ identity, body }: Call<unknown, { readonly because?: string | undefined }>): DecisionNote =>
  given({ by: identity.name, because: body.because });
const nameOf = ({ process, worker }: Body): string =>
  [worker !== undefined && `worker ${worker}`, process !== undefined && `process ${process}`]
    .filter(Boolean)
    .join(" of ") || "workers";
const settingsOf = ({ process = "", worker = "" }: Body): SettingsName => ["worker", process, worker];

export const workerRoutes = [
  route({
    method: "GET",
    path: "/workers",
    role: "reader",
    cells: "filtered",
    summary: "what holds jobs, by the names given in claims; processes are at /processes",
    answer: listOf(workerRecord),
    handle: async ({ mill }) => ({
      items: (await mill.engine.server.workers()).map((worker) => ({ ...worker, host: hostOf(worker.name) })),
    }),
  }),
  route({
    method: "GET",
    path: "/processes",
    role: "reader",
    cells: "filtered",
    summary:
      "processes that run workers, including idle ones, by their heartbeat, and the orders they have; a process not seen for a day is forgotten",
    answer: listOf(processRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.server.processes() }),
  }),
  route({
    method: "POST",
    path: "/workers/pause",
    role: "admin",
    summary:
      "stop workers from taking more jobs: those of a process, of a name, or of a name in a process; running handlers go on",
    body: z.strictObject({ ...target, because }),
    answer,
    async handle(call) {
      const workers = await call.act(
        nameOf(call.body),
        (tx) => call.mill.engine.workerPause(targetOf(call.body), noted(call), { tx }),
        settingsOf(call.body),
      );
      return { workers };
    },
  }),
  route({
    method: "POST",
    path: "/workers/drain",
    role: "admin",
    summary: "the same for workers that should end: they are drained when their last handler has ended",
    body: z.strictObject({ ...target, because }),
    answer,
    async handle(call) {
      const workers = await call.act(
        nameOf(call.body),
        (tx) => call.mill.engine.workerDrain(targetOf(call.body), noted(call), { tx }),
        settingsOf(call.body),
      );
      return { workers };
    },
  }),
  route({
    method: "POST",
    path: "/workers/resume",
    role: "admin",
    summary: "let paused or drained workers take jobs again",
    body: z.strictObject(target),
    answer,
    async handle(call) {
      const workers = await call.act(
        nameOf(call.body),
        (tx) => call.mill.engine.workerResume(targetOf(call.body), { tx }),
        settingsOf(call.body),
      );
      return { workers };
    },
  }),
  route({
    method: "POST",
    path: "/workers/concurrency",
    role: "admin",
    summary: "set how many handlers each of these workers may run at once; null goes back to what its code says",
    body: z.strictObject({ ...target, concurrency: z.number().int().min(1).max(9000).nullable(), because }),
    answer,
    async handle(call) {
      const { concurrency } = call.body;
      const workers = await call.act(
        nameOf(call.body),
        (tx) => call.mill.engine.workerConcurrency(targetOf(call.body), concurrency, noted(call), { tx }),
        settingsOf(call.body),
      );
      return { workers };
    },
  }),
];

/** The host in a name that a worker gave itself: "host:4711". */
function hostOf(name: string | null): string | null {
  return /^(.+):\d+$/.exec(name ?? "")?.[1] ?? null;
}
