import { z } from "../../zod.js";
import { bounds } from "../../../db/limits.js";
import { signalBodyBytes } from "../../http/limits.js";
import { given } from "../given.js";
import { route } from "../route.js";
import {
  because,
  childRecord,
  counted,
  done,
  flag,
  jobId,
  jobState,
  jobStep,
  jobWaits,
  jsonValue,
  limitOf,
  listOf,
  time,
} from "../schemas.js";
import { noJob } from "./jobs.js";

/** A page of steps tells values of a few kilobytes; who wants one whole asks for that step. */
const usualValueBytes = 4096;

const run = z
  .strictObject({
    ...listOf(jobStep).shape,
    state: jobState,
    parent: jobId.nullable().meta({ description: "the job that has started it" }),
    waits: jobWaits.nullable(),
    suspendedAt: time.nullable(),
  })
  .meta({ id: "Run" });

const signal = {
  name: z.string().meta({ description: "what the job waits for" }),
  value: jsonValue.optional(),
  id: z.string().optional().meta({ description: "what the signal is known by, such as the id of a web hook" }),
};
const told = z.strictObject({ isNew: z.boolean().meta({ description: "false: one with this id was sent before" }) });

export const stepRoutes = [
  route({
    method: "GET",
    path: "/jobs/{id}/steps",
    role: "reader",
    summary:
      "what a run has done, in order: its steps, their tries, waits and signals; what it waits for, and since when. Values longer than `valueBytes` are left out, and those beyond 8 MiB in all",
    query: z.strictObject({
      key: z.string().optional().meta({ description: "only of this step, or signals of this name" }),
      newest: flag.optional().meta({ description: "the newest first" }),
      valueBytes: z.coerce.number().int().min(0).max(bounds.stepBytes).default(usualValueBytes),
      limit: limitOf(1000, 100),
      cursor: jobId.optional(),
    }),
    answer: run,
    async handle({ mill, params, query: { cursor, ...filter } }) {
      const id = params["id"]!;
      const [[job], items] = await Promise.all([
        mill.engine.server.byIds([id]),
        mill.engine.steps(id, given({ ...filter, after: cursor })),
      ]);
      if (!job) throw noJob(id);
      const { state, parent, waits, suspendedAt } = job;
      return { state, parent, waits, suspendedAt, ...page(items, filter.limit) };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/children",
    role: "reader",
    summary: "the jobs that a job has started, by id, each with its step and its state",
    query: z.strictObject({ limit: limitOf(1000, 100), cursor: jobId.optional() }),
    answer: listOf(childRecord),
    handle: async ({ mill, params, looks, query: { limit, cursor: after } }) =>
      page(await looks(() => mill.engine.children(params["id"]!, given({ limit, after }))), limit),
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/below",
    role: "reader",
    summary:
      "how many jobs end with a job when it is cancelled: those it has started, those that wait for its success, and what is below them; 10,000 at most",
    answer: counted,
    handle: ({ mill, params, looks }) => looks(() => mill.engine.below(params["id"]!)),
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/tell",
    role: "producer",
    summary:
      "send a signal to a job, which is kept until the job waits for it; of those with the same `id` one counts. Refused when the job has ended",
    body: z.strictObject(signal),
    bodyLimit: signalBodyBytes,
    answer: told,
    async handle({ mill, params, body: { name, value, id }, act, deliver }) {
      const job = params["id"]!;
      const isNew = await act(`job ${job} ${JSON.stringify(name)}`, (tx) =>
        mill.engine.tell(job, name, value, { tx, ...given({ id }) }),
      );
      deliver();
      return { isNew };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/tell",
    role: "producer",
    summary: "the same for the live job with a fingerprint in a queue; refused if there is none",
    body: z.strictObject({
      queue: z.string().default("default"),
      fingerprint: z.string(),
      ...signal,
    }),
    bodyLimit: signalBodyBytes,
    answer: told,
    async handle({ mill, body: { queue, fingerprint, name, value, id }, act, deliver }) {
      const whom = `fingerprint ${JSON.stringify(fingerprint)} of queue ${JSON.stringify(queue)}`;
      const isNew = await act(`${whom} ${JSON.stringify(name)}`, async (tx) =>
        mill.engine.tell(await mill.engine.liveJobOf(queue, fingerprint, { tx }), name, value, {
          tx,
          ...given({ id }),
        }),
      );
      deliver();
      return { isNew };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/rewind",
    role: "admin",
    summary:
      "let a run go back to a step: what it has done from then on is void, and done again. One that has failed or expired gets another attempt. Refused while it runs",
    body: z.strictObject({
      to: z.string().meta({ description: "the step, with its number where its name is used again, such as poll#2" }),
      because,
    }),
    answer: done,
    async handle({ mill, params, body, identity, act, deliver, wake }) {
      const job = params["id"]!;
      const queue = await act(`job ${job} to ${JSON.stringify(body.to)}`, (tx) =>
        mill.engine.rewind(job, body.to, { tx, by: identity.name, ...given({ because: body.because }) }),
      );
      deliver(); // its children may have ended
      wake(queue);
      return { done: true };
    },
  }),
];

/** A page that is full may have another one behind it. */
function page<T extends { readonly id: string }>(
  items: readonly T[],
  limit: number,
): { items: readonly T[]; next?: string } {
  return items.length < limit ? { items } : { items, next: items.at(-1)!.id };
}
