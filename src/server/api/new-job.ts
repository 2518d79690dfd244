import { z } from "zod";
import { InvalidArgumentError } from "../../db/errors.js";
import type { EnqueueOptions, NewJob } from "../../db/types.js";
import { given } from "./given.js";

const retryPolicy = z.union([
  z.number(),
  z.array(z.number()).max(1000),
  z.strictObject({
    base: z.number().optional(),
    factor: z.number().optional(),
    cap: z.number().optional(),
    jitter: z.number().optional(),
  }),
]);
/** Counted first: every member of a record is looked at, however many mistakes there are. */
function refuseMany(value: unknown, context: z.RefinementCtx): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).length <= mostResources) return value;
  context.addIssue({ code: "custom", message: `a job needs at most ${mostResources} resources`, input: undefined });
  return z.NEVER;
}

const mostResources = 100;
const moment = z.iso.datetime({ offset: true });

/** Options of a job, those of `EnqueueOptions`; the engine checks their values. */
const jobOptions = {
  queue: z.string().optional(),
  priority: z.number().optional(),
  group: z.string().optional(),
  cost: z.number().optional(),
  resources: z.preprocess(refuseMany, z.record(z.string(), z.number())).optional(),
  tenant: z.string().optional(),
  runAt: moment.optional(),
  delaySeconds: z.number().optional(),
  expiresAt: moment.optional(),
  ttlSeconds: z.union([z.number(), z.literal("computed")]).optional(),
  deadline: moment.optional(),
  maxAttempts: z.union([z.number(), z.literal("unlimited")]).optional(),
  attemptTimeoutSeconds: z.number().optional(),
  retry: retryPolicy.optional(),
  fingerprint: z.string().optional(),
  fingerprintMode: z.enum(["keep", "replace", "debounce", "followUp"]).optional(),
  fingerprintSeconds: z.number().optional(),
  headers: z.record(z.string(), z.unknown()).optional(),
  contentType: z.string().optional(),
  stage: z.string().optional(),
};

export const newJob = z
  .strictObject({
    type: z.string(),
    input: z.unknown().optional(),
    payloadBase64: z.string().optional().meta({ description: "bytes beside the input" }),
    ...jobOptions,
  })
  .meta({ id: "NewJob" });

/** The options alone: of a job whose payload follows as a stream. */
export const streamedJob = z.strictObject({ type: z.string(), input: z.unknown().optional(), ...jobOptions });

export function toNewJob({ payloadBase64, maxAttempts, ...rest }: z.output<typeof newJob>): NewJob {
  return {
    ...given(rest),
    ...(maxAttempts === undefined ? {} : { maxAttempts: maxAttempts === "unlimited" ? Infinity : maxAttempts }),
    ...(payloadBase64 === undefined ? {} : { payload: decode(payloadBase64) }),
  } as EnqueueOptions & NewJob;
}

/** Node skips what is no base64; whoever sent it wants to hear of it. */
function decode(text: string): Uint8Array {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*$/.test(text.replace(/={0,2}$/, "")))
    throw new InvalidArgumentError("payloadBase64 is not base64", "encode the bytes as base64, with its padding");
  return Buffer.from(text, "base64");
}
