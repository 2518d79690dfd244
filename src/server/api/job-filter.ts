import { z } from "../zod.js";
import { given } from "./given.js";
import type { JobFilter } from "./look.js";
import { cellFilter, jobState, timeInput } from "./schemas.js";

/** What jobs are listed, counted and acted on by. */
export const jobFilter = {
  cell: cellFilter,
  state: jobState.optional(),
  queue: z.string().optional(),
  type: z.string().optional(),
  tenant: z.string().optional(),
  group: z.string().optional(),
  key: z.string().optional().meta({ description: "the fingerprint" }),
  since: timeInput.optional().meta({ description: "enqueued at this time or later" }),
  until: timeInput.optional().meta({ description: "enqueued before this time" }),
  endedSince: timeInput.optional().meta({ description: "ended at this time or later" }),
  endedUntil: timeInput.optional().meta({ description: "ended before this time" }),
  error: z.string().max(200).optional().meta({ description: "a part of the last error's message" }),
  failure: z
    .string()
    .max(100)
    .optional()
    .meta({ description: "the kind of its last error: `fingerprint` of /failures" }),
  input: z
    .string()
    .max(1000)
    .optional()
    .meta({ description: "a part of the input as it is written; JSON in brackets: what the input contains" }),
  text: z.string().max(200).optional().meta({
    description: "a part of its queue, type, group, tenant, fingerprint, input or last error",
  }),
};

export function filterOf({
  since,
  until,
  endedSince,
  endedUntil,
  key: fingerprint,
  ...rest
}: z.output<z.ZodObject<typeof jobFilter>> & { undecided?: boolean | undefined }): JobFilter {
  return given({ ...rest, fingerprint, since, until, endedSince, endedUntil });
}
