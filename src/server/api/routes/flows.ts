import { z } from "zod";
import { route } from "../route.js";
import { jobId, jobState, limitOf, time } from "../schemas.js";
import { noJob } from "./jobs.js";

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
        after: z.array(jobId).meta({ description: "the jobs of the flow that it waits for" }),
      }),
    ),
  })
  .meta({ id: "Flow" });

export const flowRoutes = [
  route({
    method: "GET",
    path: "/flows/{id}",
    role: "reader",
    summary: "a flow as a graph: its jobs, their states, and what each waits for",
    query: z.strictObject({ limit: limitOf(10_000, 1000) }),
    answer: flow,
    async handle({ mill, params, looks, query: { limit } }) {
      const id = params["id"]!;
      const found = await looks(() => mill.engine.getFlow(id, limit));
      if (!found) throw noJob(id);
      return found;
    },
  }),
];
