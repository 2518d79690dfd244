import { z } from "../../zod.js";
import { LeaseLostError } from "../../../db/errors.js";
import type { ClaimedJob, JobError, Settlement } from "../../../db/types.js";
import { bodyBytesOf } from "../../http/exchange.js";
import { jobBodyBytes } from "../../http/limits.js";
import { given } from "../given.js";
import { route } from "../route.js";
import { done, jobId, jsonValue, listOf, time } from "../schemas.js";

const token = z.string().meta({ description: "the lease, as the claim answered it" });
const claimed = z
  .strictObject({
    id: jobId,
    token,
    queue: z.string(),
    type: z.string(),
    priority: z.number().int(),
    attempt: z.number().int(),
    maxAttempts: z.union([z.number(), z.literal("unlimited")]),
    input: jsonValue,
    createdAt: time,
    claimedAt: time,
    leaseEndsAt: time,
    fence: z.number().optional(),
    alone: z.boolean(),
    group: z.string().optional(),
    tenant: z.string().optional(),
    headers: jsonValue.optional(),
    deadline: time.optional(),
    attemptTimeoutSeconds: z.number().optional(),
    payloadBase64: z.string().optional().meta({ description: "up to 64 KiB; larger ones: GET /jobs/{id}/payload" }),
    payloadSize: z.number().int().optional(),
    contentType: z.string().optional(),
    source: jsonValue.optional(),
    schedule: z.string().optional(),
    slotAt: time.optional(),
    fingerprint: z.string().optional(),
  })
  .meta({ id: "ClaimedJob" });

const settlement = z
  .strictObject({
    token,
    jobs: z.array(jobId).min(1).max(10_000),
    outcome: z.enum(["succeeded", "failed", "retryLater", "released", "deadLetter"]),
    results: z.array(z.unknown()).optional().meta({ description: "one for each job that succeeded" }),
    error: z.looseObject({ message: z.string() }).optional(),
    delaySeconds: z.number().optional().meta({ description: "of retryLater and released" }),
    queue: z.string().optional().meta({ description: "where dead letters go" }),
  })
  .refine(({ outcome, queue }) => (outcome === "deadLetter") === (queue !== undefined), {
    error: "give a queue for dead letters, and only for them",
    path: ["queue"],
  })
  .refine(({ outcome, results }) => outcome === "succeeded" || results === undefined, {
    error: "only jobs that succeeded have results",
    path: ["results"],
  })
  .refine(({ jobs, results }) => results === undefined || results.length === jobs.length, {
    error: "give one result for each job",
    path: ["results"],
  })
  .meta({ id: "Settlement" });

/** Each is a statement of its own, all in one transaction. */
const maxLetters = 1000;

function lettersOf(settlements: readonly z.output<typeof settlement>[]): z.output<typeof settlement>[] {
  return settlements.filter(({ outcome }) => outcome === "deadLetter");
}

export const claimRoutes = [
  route({
    method: "POST",
    path: "/claims",
    role: "worker",
    summary: "claim jobs; an empty list when there is nothing to do",
    body: z.strictObject({
      queues: z.array(z.string()).min(1).max(100).default(["default"]),
      types: z.array(z.string()).max(1000).optional(),
      limit: z.number().int().min(1).max(1000).default(1),
      leaseSeconds: z.number().positive().optional(),
      maxBytes: z.number().int().min(1).max(67_108_864).default(16_777_216),
      worker: z
        .string()
        .max(200)
        .optional()
        .meta({ description: "shown in listings; the token's name when not given" }),
    }),
    answer: listOf(claimed),
    async handle({ mill, identity, body, exchange }) {
      const options = { ...given(body), worker: body.worker ?? identity.name };
      const jobs = await mill.calls.claim(options, exchange.signal);
      // Nobody is there to work on them: they go back now instead of at the end of their lease.
      if (exchange.signal.aborted)
        await mill.engine.settle(byToken(jobs).map(([held, ids]) => ({ token: held, outcome: "released", jobs: ids })));
      return { items: jobs.map(toClaimed) };
    },
  }),
  route({
    method: "POST",
    path: "/claims/extend",
    role: "worker",
    summary:
      "prolong leases; a token or a job that is missing in the answer is lost, unless `missing` names a cell that did not answer: then a token may be of that one, and is unknown",
    cells: "named",
    body: z.strictObject({
      tokens: z.array(token).min(1).max(1000),
      seconds: z.number().positive().max(43_200).default(30),
    }),
    answer: listOf(z.strictObject({ token, leaseEndsAt: time, jobIds: z.array(jobId) })),
    async handle({ mill, body }) {
      const held = await mill.engine.claimExtend(body.tokens, body.seconds);
      return { items: [...held].map(([held, lease]) => ({ token: held, ...lease })) };
    },
  }),
  route({
    method: "POST",
    path: "/claims/progress",
    role: "worker",
    summary: "report how far a claimed job is; shown in listings, and available to its next attempt",
    body: z.strictObject({ token, job: jobId, progress: jsonValue }),
    answer: done,
    async handle({ mill, body }) {
      await mill.engine.progressPut({ id: body.job, token: body.token }, body.progress);
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/claims/settle",
    role: "worker",
    summary: "report what became of claimed jobs, all in one transaction; `refused` are those the token no longer held",
    body: z
      .strictObject({ settlements: z.array(settlement).min(1).max(1000) })
      .refine(
        ({ settlements }) => lettersOf(settlements).reduce((sum, { jobs }) => sum + jobs.length, 0) <= maxLetters,
        {
          error: `at most ${maxLetters} dead letters at once`,
          path: ["settlements"],
        },
      ),
    bodyLimit: jobBodyBytes,
    answer: z.strictObject({ refused: z.array(jobId) }),
    async handle({ mill, exchange, body: { settlements } }) {
      const letters = lettersOf(settlements);
      const others = settlements
        .filter(({ outcome }) => outcome !== "deadLetter")
        .map(({ queue: _queue, ...rest }) => given(rest) as unknown as Settlement);
      if (letters.length === 0) return { refused: await mill.calls.settle(others, bodyBytesOf(exchange)) };
      return mill.engine.transaction(async (tx) => {
        const refused = others.length === 0 ? [] : [...(await mill.engine.settle(others, undefined, { tx })).refused];
        for (const { token: held, jobs, queue, error } of letters) {
          for (const id of jobs) {
            await mill.engine
              .deadLetter({ id, token: held }, queue!, error as JobError | undefined, { tx })
              .catch((lost: unknown) => {
                if (!(lost instanceof LeaseLostError)) throw lost;
                refused.push(id);
              });
          }
        }
        return { refused };
      });
    },
  }),
];

function byToken(jobs: readonly ClaimedJob[]): [string, string[]][] {
  const held = new Map<string, string[]>();
  for (const { token: of, id } of jobs) {
    const ids = held.get(of);
    if (ids) ids.push(id);
    else held.set(of, [id]);
  }
  return [...held];
}

function toClaimed({ payload, ...job }: ClaimedJob): object {
  return { ...job, ...(payload === undefined ? {} : { payloadBase64: Buffer.from(payload).toString("base64") }) };
}
