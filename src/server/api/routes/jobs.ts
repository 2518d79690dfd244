import { z } from "../../zod.js";
import { InvalidArgumentError, JobFailedError, JobNotFoundError, TimeoutError } from "../../../db/errors.js";
import type { Transaction } from "../../../db/foreign.js";
import type { Enqueued, JobId, NewJob } from "../../../db/types.js";
import { traceHeader } from "../../../observe/tracing.js";
import { bodyBytesOf } from "../../http/exchange.js";
import { jobBodyBytes } from "../../http/limits.js";
import { given } from "../given.js";
import { type JobFilter, countJobs, findJobs } from "../look.js";
import { newJob, toNewJob } from "../new-job.js";
import { enqueueOnce } from "../once.js";
import { type Call, route } from "../route.js";
import {
  attemptRecord,
  because,
  counted,
  decisionRecord,
  done,
  dryRun,
  enqueued,
  flag,
  jobId,
  jobRecord,
  jobState,
  jsonValue,
  limitOf,
  listOf,
  time,
  timeInput,
  windows,
} from "../schemas.js";

/** In one request. */
export const mostJobs = 10_000;

const jobFilter = {
  state: jobState.optional(),
  queue: z.string().optional(),
  type: z.string().optional(),
  tenant: z.string().optional(),
  group: z.string().optional(),
  key: z.string().optional().meta({ description: "the fingerprint" }),
  since: timeInput.optional().meta({ description: "enqueued at this time or later" }),
  until: timeInput.optional().meta({ description: "enqueued before this time" }),
  error: z.string().max(200).optional().meta({ description: "a part of the last error's message" }),
};

const details = z
  .strictObject({
    job: jobRecord,
    attempts: z.array(attemptRecord),
    progress: jsonValue,
    decisions: z.array(decisionRecord),
  })
  .meta({ id: "JobDetails" });

const ids = z.array(jobId).min(1).max(1000);
const cancelFilter = z.strictObject({
  queue: z.string().optional(),
  type: z.string().optional(),
  tenant: z.string().optional(),
  key: z.string().optional(),
});
const retryFilter = z.strictObject({ type: z.string(), queue: z.string().optional() });

export const jobRoutes = [
  route({
    method: "POST",
    path: "/jobs",
    role: "producer",
    summary: "enqueue one job; with the header Idempotency-Key a repeated request gets the first answer",
    body: newJob,
    bodyLimit: jobBodyBytes,
    answer: enqueued,
    async handle(call) {
      const job = traced(call, toNewJob(call.body));
      const { engine, calls } = call.mill;
      const answer = await enqueueOnce(call, [job], (options) =>
        options || job.payload !== undefined
          ? engine.enqueue(job, options)
          : calls.enqueue(job, bodyBytesOf(call.exchange)),
      );
      call.wake(job.queue ?? "default");
      return answer;
    },
  }),
  route({
    method: "POST",
    path: "/jobs/batch",
    role: "producer",
    summary: "enqueue up to 10,000 jobs, all of them or none; Idempotency-Key as for one",
    body: z.strictObject({ jobs: z.array(newJob).min(1).max(mostJobs) }),
    bodyLimit: jobBodyBytes,
    answer: listOf(enqueued),
    async handle(call) {
      const jobs: NewJob[] = call.body.jobs.map((job) => traced(call, toNewJob(job)));
      const items = await enqueueOnce<Enqueued[]>(call, jobs, (options) => call.mill.engine.enqueueEach(jobs, options));
      for (const queue of new Set(jobs.map((job) => job.queue ?? "default"))) call.wake(queue);
      return { items };
    },
  }),
  route({
    method: "GET",
    path: "/jobs",
    role: "reader",
    summary:
      "jobs that match every filter given, newest first. It looks for two seconds: a page with `next` may be short, or empty",
    query: z.strictObject({
      ...jobFilter,
      undecided: flag.optional(),
      brief: flag.optional().meta({
        description: "without inputs, results, headers, sources and stacks, which are null then: for lists",
      }),
      limit: limitOf(1000, 50),
      cursor: jobId.optional(),
    }),
    answer: listOf(jobRecord),
    async handle({ mill, looks, query }) {
      const { limit, cursor, brief, ...filter } = query;
      return findJobs({ mill, looks }, filterOf(filter), { limit, before: cursor, isBrief: brief });
    },
  }),
  route({
    method: "POST",
    path: "/jobs/count",
    role: "reader",
    summary: "how many jobs match every filter given: exactly up to 10,000, as long as it does not take too long",
    body: z.strictObject({ ...jobFilter, undecided: z.boolean().optional() }),
    answer: counted,
    handle: async ({ mill, looks, body }) => countJobs({ mill, looks }, filterOf(body)),
  }),
  route({
    method: "GET",
    path: "/jobs/counts",
    role: "reader",
    summary: "how many jobs of a tenant are in each state",
    query: z.strictObject({
      tenant: z.string(),
      queue: z.string().optional(),
      type: z.string().optional(),
      group: z.string().optional(),
    }),
    answer: z.record(jobState, z.number().int()),
    handle: async ({ mill, query }) => mill.engine.count(given(query)),
  }),
  route({
    method: "GET",
    path: "/jobs/durations",
    role: "reader",
    summary: "how many attempts of each type ended within windows up to now, and how long they took",
    query: z.strictObject({ type: z.string().optional(), queue: z.string().optional(), windows: windows.optional() }),
    answer: listOf(
      z
        .strictObject({
          type: z.string(),
          windowSeconds: z.number(),
          runs: z.number().int(),
          succeeded: z.number().int(),
          failed: z.number().int(),
          totalSeconds: z.number(),
          averageSeconds: z.number().nullable(),
          lastSeconds: z.number().nullable(),
          lastFinishedAt: time.nullable(),
        })
        .meta({ id: "Durations" }),
    ),
    handle: async ({ mill, query: { windows: windowsSeconds, ...rest } }) => ({
      items: await mill.engine.runStats(given({ ...rest, windowsSeconds })),
    }),
  }),
  route({
    method: "POST",
    path: "/jobs/cancel",
    role: "producer",
    summary:
      "cancel jobs by id, or all that match: a filter needs a type, a tenant or a key. 100,000 at most in one request",
    body: z.strictObject({ ids: ids.optional(), filter: cancelFilter.optional(), because, dryRun }),
    answer: counted,
    async handle({ mill, looks, body, identity: { name: by }, act, pretend, deliver }) {
      if (body.ids !== undefined) {
        oneOf(body);
        const cancel = (tx: Transaction) => mill.engine.cancel(body.ids!, body.because, { tx, by });
        if (body.dryRun) return exactly(await pretend(cancel));
        const count = await act(jobsName(body.ids), cancel);
        deliver();
        return exactly(count);
      }
      const { key: fingerprint, ...rest } = oneOf(body);
      const filter = given({ ...rest, fingerprint });
      if (filter.type === undefined && filter.tenant === undefined && fingerprint === undefined)
        throw new InvalidArgumentError(
          "cancelling needs a type, a tenant or a key",
          "use POST /queues/{queue}/purge to drop all waiting jobs of a queue",
        );
      if (body.dryRun) return countJobs({ mill, looks }, { ...filter, isLive: true });
      const count = await act(`jobs ${JSON.stringify(filter)}`, (tx) =>
        mill.engine.cancelWhere({ ...filter, by, ...given({ because: body.because }) }, { tx }),
      );
      deliver();
      return upToMost(count);
    },
  }),
  route({
    method: "POST",
    path: "/jobs/retry",
    role: "admin",
    summary: "give failed and expired jobs more attempts: by id, or all of a type, 100,000 at most in one request",
    body: z.strictObject({
      ids: ids.optional(),
      filter: retryFilter.optional(),
      attempts: z.number().int().min(1).max(1000).default(1),
      perSecond: z.number().positive().optional(),
      because,
      dryRun,
    }),
    answer: counted,
    async handle({ mill, looks, body, identity, act, pretend }) {
      const note = { by: identity.name, ...given({ because: body.because, perSecond: body.perSecond }) };
      if (body.ids !== undefined) {
        oneOf(body);
        const retry = (tx: Transaction) => mill.engine.addRetries(body.attempts, { ids: body.ids!, ...note }, { tx });
        return exactly(body.dryRun ? await pretend(retry) : await act(jobsName(body.ids), retry));
      }
      const filter = given(oneOf(body));
      if (body.dryRun) return countJobs({ mill, looks }, { ...filter, undecided: true });
      return upToMost(
        await act(`jobs ${JSON.stringify(filter)}`, (tx) =>
          mill.engine.addRetries(body.attempts, { ...filter, ...note }, { tx }),
        ),
      );
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}",
    role: "reader",
    summary: "one job with its attempts, its progress, and what was decided on it",
    query: z.strictObject({
      brief: flag.optional().meta({
        description: "without its input, result, headers and source, which are null then: for asking again",
      }),
    }),
    answer: details,
    async handle({ mill, params, query: { brief } }) {
      const id = params["id"]!;
      const [found, decisions] = await Promise.all([mill.engine.get(id), mill.engine.decisions(id)]);
      if (!found) throw noJob(id);
      const job = brief ? { ...found.job, input: null, result: null, headers: null, source: null } : found.job;
      return { ...found, job, decisions };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/result",
    role: "reader",
    summary:
      "how a job ended, with its result or its error; waits for that up to `waitSeconds`, and tells the state it is in when it has not ended by then",
    query: z.strictObject({ waitSeconds: limitOf(20, 1) }),
    answer: z
      .strictObject({ state: jobState, result: jsonValue, error: z.string().nullable() })
      .meta({ id: "Outcome" }),
    handle: outcome,
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/retry",
    role: "admin",
    summary: "give a failed or expired job more attempts; not done when it is in neither state, or discarded",
    body: z.strictObject({ attempts: z.number().int().min(1).max(1000).default(1), because }),
    answer: done,
    handle: async ({ mill, params, body, identity, act }) =>
      one(
        await act(`job ${params["id"]}`, (tx) =>
          mill.engine.addRetries(
            body.attempts,
            { ids: [params["id"]!], by: identity.name, ...given({ because: body.because }) },
            { tx },
          ),
        ),
      ),
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/cancel",
    role: "producer",
    summary: "cancel a job; not done when it had ended already",
    body: z.strictObject({ because }),
    answer: done,
    async handle({ mill, params, body, identity: { name: by }, act, deliver }) {
      const count = await act(`job ${params["id"]}`, (tx) =>
        mill.engine.cancel([params["id"]!], body.because, { tx, by }),
      );
      deliver(); // its children end too
      return one(count);
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/discard",
    role: "admin",
    summary:
      "decide that nobody will retry a failed or expired job; not done when it is in neither state, or was discarded before",
    body: z.strictObject({ because }),
    answer: done,
    handle: async ({ mill, params, body, identity, act }) =>
      one(
        await act(`job ${params["id"]}`, (tx) =>
          mill.engine.discard([params["id"]!], { by: identity.name, ...given({ because: body.because }) }, { tx }),
        ),
      ),
  }),
];

/** Nobody holds a connection while waiting: one look at a time asks for all who wait. */
async function outcome({ mill, params, query, exchange }: Call<{ readonly waitSeconds: number }>): Promise<object> {
  const signal = AbortSignal.any([exchange.signal, exchange.stopping]);
  try {
    return {
      state: "succeeded",
      result: await mill.result(params["id"]!, { timeout: query.waitSeconds * 1000, signal }),
      error: null,
    };
  } catch (error) {
    if (error instanceof JobFailedError) return { state: error.state, result: null, error: error.message };
    if (!(error instanceof TimeoutError) && !exchange.stopping.aborted) throw error;
    const found = await mill.engine.get(params["id"]!);
    if (!found) throw noJob(params["id"]!);
    return { state: found.job.state, result: found.job.result, error: found.job.lastError?.message ?? null };
  }
}

/** A job joins the trace of its request, unless it names another. */
export function traced<Job extends Pick<NewJob, "headers">>({ exchange }: Call, job: Job): Job {
  const trace = exchange.request.headers[traceHeader];
  if (
    typeof trace !== "string" ||
    !/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(trace) ||
    job.headers?.[traceHeader] !== undefined
  )
    return job;
  return { ...job, headers: { ...job.headers, [traceHeader]: trace } };
}

const one = (count: number) => ({ done: count === 1 });
const exactly = (count: number) => ({ count, isExact: true });
/** One statement of the engine touches no more than this; whoever wants the rest asks again. */
const upToMost = (count: number) => ({ count, isExact: count < 100_000 });
const jobsName = (jobs: readonly JobId[]): string =>
  jobs.length === 1 ? `job ${jobs[0]}` : `${jobs.length} jobs from ${jobs[0]} on`;

/** Ids or a filter, never both. */
function oneOf<Filter>({
  ids: given,
  filter,
}: {
  readonly ids?: unknown;
  readonly filter?: Filter | undefined;
}): Filter {
  if ((given === undefined) === (filter === undefined))
    throw new InvalidArgumentError("which jobs is not clear", "give either ids or a filter");
  return filter as Filter;
}

function filterOf({
  since,
  until,
  key: fingerprint,
  ...rest
}: z.output<z.ZodObject<typeof jobFilter>> & { undecided?: boolean | undefined }): JobFilter {
  return given({ ...rest, fingerprint, createdFrom: since, createdTo: until });
}

export function noJob(id: string): JobNotFoundError {
  return new JobNotFoundError(`there is no job ${id}, or no longer`, "it may have been removed after its retention");
}
