import { z } from "../../zod.js";
import { bounds } from "../../../db/limits.js";
import { type NamedFlowJob, flowPlan } from "../../../client/flow-plan.js";
import { jobBodyBytes } from "../../http/limits.js";
import { given } from "../given.js";
import { optionSchemas } from "../option-schemas.js";
import { enqueueOnce } from "../once.js";
import { route } from "../route.js";
import { jobId, jobState, limitOf, time } from "../schemas.js";
import { maxJobs, noJob, traced } from "./jobs.js";

const flow = z
  .strictObject({
    id: jobId,
    name: z.string().nullable(),
    state: jobState,
    createdAt: time,
    finishedAt: time.nullable(),
    total: z.number().int().meta({ description: "how many jobs it has; there may be fewer here" }),
    jobs: z.array(
      z.strictObject({
        id: jobId,
        type: z.string(),
        queue: z.string(),
        state: jobState,
        after: z.array(jobId).meta({ description: "what it waits for: jobs of the flow, and of `others`" }),
        when: z.enum(["succeeded", "failed", "ended"]).meta({ description: "how that has to end for it to begin" }),
      }),
    ),
    others: z
      .array(
        z.strictObject({
          id: jobId,
          type: z.string().nullable().meta({ description: "null of one that is no longer known" }),
          queue: z.string().nullable(),
          state: jobState.nullable(),
          flow: jobId.nullable().meta({ description: "the flow that it is a job of" }),
        }),
      )
      .meta({ description: "jobs outside of the flow that its jobs wait for" }),
  })
  .meta({ id: "Flow" });

const unused = ["fingerprint", "fingerprintMode", "fingerprintSeconds", "schedule"];
const flowJob = z
  .strictObject({
    name: z.string().optional().meta({ description: "what others of the flow know it by; not a number" }),
    type: z.string(),
    input: z.unknown().optional(),
    after: z
      .array(z.string())
      .max(bounds.edges)
      .optional()
      .meta({ description: "what it waits for: names of jobs of the flow, or ids of jobs that are there" }),
    when: z
      .enum(["succeeded", "failed", "ended"])
      .optional()
      .meta({ description: "how that has to end for the job to begin, else it is cancelled (default succeeded)" }),
    ...Object.fromEntries(Object.entries(optionSchemas("job")).filter(([name]) => !unused.includes(name))),
  })
  .meta({ id: "NewFlowJob" });

export const flowRoutes = [
  route({
    method: "POST",
    path: "/flows",
    role: "producer",
    summary:
      "enqueue up to 10,000 jobs that wait for each other, all of them or none: a new flow, or more jobs of one (`flow`); Idempotency-Key as for one job. Answers with its id, and those of the jobs in their order",
    body: z.strictObject({
      name: z.string().optional().meta({ description: "what people know the flow by" }),
      queue: z.string().optional().meta({ description: "where the flow itself is kept (default default)" }),
      flow: jobId.optional().meta({ description: "add to this one, which has not ended" }),
      jobs: z.array(flowJob).max(maxJobs),
    }),
    bodyLimit: jobBodyBytes,
    answer: z.strictObject({ id: jobId, jobs: z.array(jobId) }),
    async handle(call) {
      const { jobs: named, ...target } = call.body;
      const { jobs, places } = flowPlan(named.map((job) => traced(call, given(job) as NamedFlowJob)));
      await call.mill.inputs.check(
        jobs.map(({ type, input, options }) => ({ type, input, headers: options?.headers })),
      );
      const stored = await enqueueOnce(call, [], (options) =>
        call.mill.engine.flowEnqueue(jobs, given(target), options),
      );
      call.deliver();
      for (const queue of new Set(jobs.map(({ options }) => options?.queue ?? "default"))) call.wake(queue);
      return { id: stored.id, jobs: places.map((place) => stored.jobs[place]!) };
    },
  }),
  route({
    method: "GET",
    path: "/flows/{id}",
    role: "reader",
    summary: "a flow as a graph: its jobs, their states, and what each waits for",
    query: z.strictObject({ limit: limitOf(10_000, 1000) }),
    answer: flow,
    async handle({ mill, params, looks, query: { limit } }) {
      const id = params["id"]!;
      const found = await looks(() => mill.engine.flowGet(id, limit));
      if (!found) throw noJob(id);
      return found;
    },
  }),
];
