import { z } from "../../zod.js";
import { JobFailedError, JobNotFoundError, TimeoutError } from "../../../db/errors.js";
import type { Enqueued, NewJob } from "../../../db/types.js";
import { traceHeader } from "../../../observe/tracing.js";
import { bodyBytesOf } from "../../http/exchange.js";
import { jobBodyBytes } from "../../http/limits.js";
import { given } from "../given.js";
import { filterOf, jobFilter } from "../job-filter.js";
import { countJobs, findJobs, toldReasons } from "../look.js";
import { newJob, toNewJob } from "../new-job.js";
import { enqueueOnce } from "../once.js";
import { type Call, route } from "../route.js";
import {
  attemptRecord,
  because,
  counted,
  decisionRecord,
  done,
  enqueued,
  flag,
  jobId,
  jobRecord,
  jobState,
  jobStates,
  jsonValue,
  limitOf,
  listOf,
  reason,
  time,
  windows,
} from "../schemas.js";
import { bulkRoutes } from "./bulk.js";

/** In one request. */
export const maxJobs = 10_000;

const details = z
  .strictObject({
    job: jobRecord,
    attempts: z.array(attemptRecord),
    progress: jsonValue,
    decisions: z.array(decisionRecord),
    failure: z
      .string()
      .nullable()
      .meta({ description: "the kind of its last error, as /failures has it: jobs with the same failed alike" }),
  })
  .meta({ id: "JobDetails" });

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
      const { engine, calls, inputs } = call.mill;
      await inputs.check([job]);
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
    path: "/jobs/many",
    role: "producer",
    summary: "enqueue up to 10,000 jobs, all of them or none; Idempotency-Key as for one",
    body: z.strictObject({ jobs: z.array(newJob).min(1).max(maxJobs) }),
    bodyLimit: jobBodyBytes,
    answer: listOf(enqueued),
    async handle(call) {
      const jobs: NewJob[] = call.body.jobs.map((job) => traced(call, toNewJob(job)));
      await call.mill.inputs.check(jobs);
      const items = await enqueueOnce<Enqueued[]>(call, jobs, (options) => call.mill.engine.enqueueEach(jobs, options));
      for (const queue of new Set(jobs.map((job) => job.queue ?? "default"))) call.wake(queue);
      return { items };
    },
  }),
  route({
    method: "GET",
    path: "/jobs",
    role: "reader",
    cells: "named",
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
    cells: "named",
    summary: "how many jobs match every filter given: exact up to 10,000, unless that takes too long",
    body: z.strictObject({ ...jobFilter, undecided: z.boolean().optional() }),
    answer: counted,
    async handle({ mill, looks, body }) {
      const { count, isExact } = await countJobs({ mill, looks }, filterOf(body));
      return { count, isExact };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/counts",
    role: "reader",
    cells: "filtered",
    summary: "how many jobs of a tenant are in each state",
    query: z.strictObject({
      tenant: z.string(),
      queue: z.string().optional(),
      type: z.string().optional(),
      group: z.string().optional(),
    }),
    answer: z.strictObject(Object.fromEntries(jobStates.map((state) => [state, z.number().int()]))),
    handle: async ({ mill, query }) => mill.engine.count(given(query)),
  }),
  route({
    method: "GET",
    path: "/jobs/durations",
    role: "reader",
    cells: "filtered",
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
      items: await mill.engine.durations(given({ ...rest, windowsSeconds })),
    }),
  }),
  ...bulkRoutes,
  route({
    method: "GET",
    path: "/jobs/{id}",
    role: "reader",
    summary: "one job with its attempts, its progress, and what was decided on it",
    query: z.strictObject({
      brief: flag.optional().meta({
        description: "without its input, results, headers and source, which are not read, and null: for asking again",
      }),
    }),
    answer: details,
    async handle({ mill, params, query: { brief } }) {
      const id = params["id"]!;
      const [found, decisions] = await Promise.all([
        brief ? mill.engine.getBrief(id) : mill.engine.get(id),
        mill.engine.decisions(id),
      ]);
      if (!found) throw noJob(id);
      const failure = found.job.lastError === null ? null : await mill.engine.server.failureOf(id);
      return { ...found, decisions, failure };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/log",
    role: "reader",
    summary: "the newest lines that a job has logged: of its run, a second late, or else of its last attempt",
    answer: z
      .strictObject({ isRunning: z.boolean(), lines: z.array(z.string()), updatedAt: time.nullable() })
      .meta({ id: "Log" }),
    handle: async ({ mill, params }) => mill.engine.log(params["id"]!),
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/why",
    role: "reader",
    summary: "why a job waits; nothing when it runs or has ended. docs/queue-states.md lists the codes",
    answer: listOf(reason),
    async handle({ mill, params }) {
      const reasons = await mill.engine.why(params["id"]!);
      if (!reasons) throw noJob(params["id"]!);
      return { items: toldReasons(reasons) };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/result",
    role: "reader",
    summary:
      "how a job ended, with its result or its error; waits for the end up to `waitSeconds`, and otherwise returns the current state",
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
    summary: "give a failed or expired job more attempts; does nothing if it is in neither state, or discarded",
    body: z.strictObject({ attempts: z.number().int().min(1).max(1000).default(1), because }),
    answer: done,
    handle: async ({ mill, params, body, identity, act }) =>
      one(
        await act(`job ${params["id"]}`, (tx) =>
          mill.engine.retry(
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
    summary: "cancel a job; does nothing if it had ended already",
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
    path: "/jobs/{id}/run-now",
    role: "admin",
    summary: "make a delayed job run now; does nothing if it is not delayed, or waits for the release of a stage",
    body: z.strictObject({ because }),
    answer: done,
    handle: async ({ mill, params, act }) =>
      one(await act(`job ${params["id"]}`, (tx) => mill.engine.runNow([params["id"]!], { tx }))),
  }),
  route({
    method: "POST",
    path: "/jobs/{id}/discard",
    role: "admin",
    summary:
      "decide that a failed or expired job is not retried; does nothing if it is in neither state, or was discarded before",
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
      result: await mill.result(params["id"]!, query.waitSeconds * 1000, signal),
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
export function noJob(id: string): JobNotFoundError {
  return new JobNotFoundError(`there is no job ${id}, or no longer`, "it may have been removed after its retention");
}
