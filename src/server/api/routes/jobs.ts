import { z } from "zod";
import { JobNotFoundError } from "../../../db/errors.js";
import type { ListFilter } from "../../../db/types.js";
import { given } from "../given.js";
import { route } from "../route.js";
import { attemptRecord, decisionRecord, flag, jobId, jobRecord, jobState, jsonValue, limitOf, listOf, timeInput } from "../schemas.js";

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
  .strictObject({ job: jobRecord, attempts: z.array(attemptRecord), progress: jsonValue, decisions: z.array(decisionRecord) })
  .meta({ id: "JobDetails" });

export const jobRoutes = [
  route({
    method: "GET",
    path: "/jobs",
    role: "reader",
    summary: "jobs that match every filter given, newest first. It looks for a second or two: a page with `next` may be short, or empty",
    query: z.strictObject({ ...jobFilter, undecided: flag.optional(), limit: limitOf(1000, 50), cursor: jobId.optional() }),
    answer: listOf(jobRecord),
    async handle({ mill, query }) {
      const { limit, cursor, ...rest } = query;
      const items = await mill.engine.list({ ...filterOf(rest), limit, ...(cursor === undefined ? {} : { before: cursor }) });
      return { items, ...(items.length === limit ? { next: items.at(-1)!.id } : {}) };
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}",
    role: "reader",
    summary: "one job with its attempts, its progress, and what was decided on it",
    answer: details,
    async handle({ mill, params }) {
      const id = params["id"]!;
      const [found, decisions] = await Promise.all([mill.engine.get(id), mill.engine.decisions(id)]);
      if (!found) throw noJob(id);
      return { ...found, decisions };
    },
  }),
];

function filterOf({ since, until, key: fingerprint, ...rest }: z.output<z.ZodObject<typeof jobFilter>> & { undecided?: boolean | undefined }): ListFilter {
  return given({ ...rest, fingerprint, createdFrom: since, createdTo: until });
}

export function noJob(id: string): JobNotFoundError {
  return new JobNotFoundError(`there is no job ${id}, or no longer`, "it may have been removed after its retention");
}
