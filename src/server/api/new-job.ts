import { z } from "../zod.js";
import { InvalidArgumentError } from "../../db/errors.js";
import type { NewJob } from "../../db/types.js";
import { given } from "./given.js";
import { optionSchemas } from "./option-schemas.js";

const jobOptions = optionSchemas("job");

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

export function toNewJob(job: z.output<typeof newJob> | z.output<typeof streamedJob>): NewJob {
  const { payloadBase64, ...rest } = job as z.output<typeof newJob>;
  return { ...given(rest), ...(payloadBase64 === undefined ? {} : { payload: decode(payloadBase64) }) };
}

/** Node skips what is no base64; whoever sent it wants to hear of it. */
function decode(text: string): Uint8Array {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*$/.test(text.replace(/={0,2}$/, "")))
    throw new InvalidArgumentError("payloadBase64 is not base64", "encode the bytes as base64, with its padding");
  return Buffer.from(text, "base64");
}
