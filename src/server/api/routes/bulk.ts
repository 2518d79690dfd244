import { z } from "../../zod.js";
import { InvalidArgumentError } from "../../../db/errors.js";
import type { Queryable } from "../../../db/queryable.js";
import type { JobId } from "../../../db/types.js";
import { given } from "../given.js";
import { filterOf, jobFilter } from "../job-filter.js";
import { type JobFilter, countJobs, look } from "../look.js";
import { type Call, route } from "../route.js";
import { batched, because, dryRun, jobId } from "../schemas.js";

/** A batch commits by itself, with its entry in the audit. */
const batchJobs = 1000;
/** A request looks and acts this long, so that it has an end; `next` is the body of the one that continues. */
const maxMs = 20_000;

const ids = z.array(jobId).min(1).max(1000);
const filter = z.strictObject({ ...jobFilter, undecided: z.boolean().optional() });

/** Which jobs, and how many at most in this request. */
const which = {
  ids: ids.optional(),
  filter: filter.optional(),
  cursor: jobId.optional().meta({ description: "with a filter: only jobs before this one; `next` has it" }),
  limit: z.number().int().min(1).max(100_000).default(100_000).meta({
    description: "with a filter: go on no more once so many were touched",
  }),
  because,
  dryRun,
};

interface Which {
  readonly ids?: readonly JobId[] | undefined;
  readonly filter?: z.output<typeof filter> | undefined;
  readonly cursor?: JobId | undefined;
  readonly limit: number;
  readonly dryRun: boolean;
}

interface BulkAct {
  /** What the act is about, of all that match. */
  readonly narrow: Pick<JobFilter, "isLive" | "undecided">;
  /** Do it; `touched` so many were in the batches before. */
  readonly work: (jobs: readonly JobId[], tx: Queryable, touched: number) => Promise<number>;
  /** What of the jobs found it would touch, where the filter does not say it all. */
  readonly count?: (jobs: readonly JobId[]) => Promise<number>;
}

/** Looking for what matches may take long; each batch is found by itself, and done by a transaction of its own. */
async function bulk(call: Call<unknown, Which>, { narrow, work, count: countOf }: BulkAct): Promise<object> {
  const { body, mill, looks, act, pretend } = call;
  if ((body.ids === undefined) === (body.filter === undefined))
    throw new InvalidArgumentError("which jobs is not clear", "give either ids or a filter");
  if (body.ids !== undefined) {
    const jobs = [...new Set(body.ids)];
    const all = (tx: Queryable) => work(jobs, tx, 0);
    return { count: await (body.dryRun ? pretend(all) : act(jobsName(jobs), all)), isExact: true };
  }
  const wanted = { ...filterOf(body.filter!), ...narrow };
  if (Object.keys(given(body.filter!)).length === 0)
    throw new InvalidArgumentError("the filter is empty", "say which jobs, by a queue, a type, a state or a time");
  const name = `jobs ${JSON.stringify(given(body.filter!))}`;
  const goOn = (cursor: JobId) => ({ isExact: false, next: { ...given(body), cursor } });
  if (body.dryRun && !countOf) {
    const { count, next } = await countJobs({ mill, looks }, wanted, body.cursor);
    return { count, ...(next === null ? { isExact: true } : goOn(next)) };
  }
  const until = Date.now() + maxMs;
  let before = body.cursor;
  let count = 0;
  do {
    const limit = Math.min(batchJobs, body.limit - count);
    const found = await look({ mill, looks }, wanted, { limit, ...given({ before }) });
    if (found.ids.length > 0)
      count += body.dryRun ? await countOf!(found.ids) : await act(name, (tx) => work(found.ids, tx, count));
    before = found.next ?? undefined;
  } while (
    before !== undefined &&
    count < body.limit &&
    (body.dryRun ? count < batchJobs : true) &&
    Date.now() < until
  );
  return { count, ...(before === undefined ? { isExact: true } : goOn(before)) };
}

const jobsName = (jobs: readonly JobId[]): string =>
  jobs.length === 1 ? `job ${jobs[0]}` : `${jobs.length} jobs: ${jobs.join(", ")}`;

const inSteps = "by id, or all that match a filter: a thousand at a time, newest first; `next` continues";

export const bulkRoutes = [
  route({
    method: "POST",
    path: "/jobs/cancel",
    role: "producer",
    summary: `cancel jobs that have not ended: ${inSteps}`,
    body: z.strictObject(which),
    answer: batched,
    async handle(call) {
      const { mill, body, identity } = call;
      const answer = await bulk(call, {
        narrow: { isLive: true },
        work: (jobs, tx) => mill.engine.cancel(jobs, body.because, { tx, by: identity.name }),
      });
      if (!body.dryRun) call.deliver(); // what waits for them
      return answer;
    },
  }),
  route({
    method: "POST",
    path: "/jobs/retry",
    role: "admin",
    summary: `give failed and expired jobs that were not retried or discarded yet more attempts: ${inSteps}; \`perSecond\` spreads them over time`,
    body: z.strictObject({
      ...which,
      attempts: z.number().int().min(1).max(1000).default(1),
      perSecond: z.number().positive().optional(),
      startAt: z.iso.datetime({ offset: true }).optional().meta({ description: "when the first is due; default now" }),
    }),
    answer: batched,
    async handle(call) {
      const { mill, body, identity } = call;
      const { perSecond } = body;
      const first = perSecond === undefined ? undefined : new Date(body.startAt ?? Date.now()).getTime();
      const due = (count: number) =>
        first === undefined ? body.startAt : new Date(first + (count / perSecond!) * 1000).toISOString();
      const answer = await bulk(call, {
        narrow: { undecided: true },
        work: (jobs, tx, touched) =>
          mill.engine.retry(
            body.attempts,
            {
              ids: jobs,
              by: identity.name,
              skipFinished: body.filter !== undefined,
              ...given({ because: body.because, perSecond, startAt: due(touched) }),
            },
            { tx },
          ),
      });
      const { count, next } = answer as { count: number; next?: object };
      return next === undefined ? answer : { ...answer, next: { ...next, ...given({ startAt: due(count) }) } };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/discard",
    role: "admin",
    summary: `mark failed and expired jobs as not to be retried: ${inSteps}`,
    body: z.strictObject(which),
    answer: batched,
    handle: async (call) =>
      bulk(call, {
        narrow: { undecided: true },
        work: (jobs, tx) =>
          call.mill.engine.discard(jobs, { by: call.identity.name, ...given({ because: call.body.because }) }, { tx }),
      }),
  }),
  route({
    method: "POST",
    path: "/jobs/rewind",
    role: "admin",
    summary: `let runs go back to a step, those that have done it and do not run just now: ${inSteps}`,
    body: z.strictObject({
      ...which,
      to: z.string().meta({ description: "the step, with its number where its name is used again, such as poll#2" }),
    }),
    answer: batched,
    async handle(call) {
      const { mill, body, identity } = call;
      const queues = new Set<string>();
      const answer = await bulk(call, {
        narrow: {},
        async work(jobs, tx) {
          const note = { by: identity.name, ...given({ because: body.because }) };
          const rewound = await mill.engine.rewindMany(jobs, body.to, { tx, ...note });
          for (const queue of rewound.queues) queues.add(queue);
          return rewound.count;
        },
        count: async (jobs) => (await mill.engine.rewindMany(jobs, body.to, { dryRun: true })).count,
      });
      if (body.dryRun) return answer;
      call.deliver(); // their children may have ended
      for (const queue of queues) call.wake(queue);
      return answer;
    },
  }),
];
