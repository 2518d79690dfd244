import { z } from "../../zod.js";
import type { FailureFilter, FailureGroup, FailureRetry, Replay } from "../../../db/types.js";
import { given } from "../given.js";
import { type Call, route } from "../route.js";
import { batched, because, dryRun, jobId, limitOf, listOf, time, timeInput } from "../schemas.js";

/** A batch commits by itself, with its entry in the audit. */
const batch = 1000;
/** A request does so many at most, so that it has an end; `next` is the body of the one that continues. */
const maxJobs = 100_000;
const maxMs = 20_000;
/** Counting goes in larger steps, and a request is answered sooner, so that somebody sees how far it is. */
const countedBatch = 10_000;
const countedMs = 2000;

const failureGroup = z
  .strictObject({
    fingerprint: z.string(),
    name: z.string().nullable(),
    code: z.string().nullable(),
    message: z.string().nullable(),
    jobs: z.number().int(),
    firstAt: time,
    lastAt: time,
    types: z.array(z.string()),
    queues: z.array(z.string()),
    lastJobId: jobId,
  })
  .meta({ id: "FailureGroup" });

/** The newest so many failures are looked at. */
const maxLooked = 10_000;

/** Groups of failures, all of them; whether those are all failures there are. */
async function looked(
  { mill }: Pick<Call, "mill">,
  filter: Omit<FailureFilter, "limit">,
): Promise<{ groups: readonly FailureGroup[]; total: number; isExact: boolean }> {
  const groups = await mill.engine.failures({ ...filter, limit: maxLooked });
  const total = groups.reduce((sum, { jobs }) => sum + jobs, 0);
  return { groups, total, isExact: total < maxLooked };
}

export const failureRoutes = [
  route({
    method: "GET",
    path: "/failures",
    role: "reader",
    cells: "filtered",
    summary:
      "failed jobs that wait for a decision, those with alike errors together; of the newest 10,000 that match: when there are more, `isExact` is false and all counts are lower bounds",
    query: z.strictObject({
      queue: z.string().optional(),
      type: z.string().optional(),
      since: timeInput.optional(),
      until: timeInput.optional(),
      limit: limitOf(1000, 100),
    }),
    answer: z.strictObject({
      ...listOf(failureGroup).shape,
      total: z.number().int().meta({ description: "how many jobs they are, those of groups beyond `limit` too" }),
      isExact: z.boolean().meta({ description: "false: there are more" }),
    }),
    async handle({ mill, query: { limit, ...filter } }) {
      const { groups, ...rest } = await looked({ mill }, given(filter));
      return { items: groups.slice(0, limit), ...rest };
    },
  }),
  route({
    method: "POST",
    path: "/failures/retry",
    role: "admin",
    cells: "filtered",
    summary:
      "give failed jobs more attempts, oldest first: those of a group of failures, a queue or a type; `perSecond` spreads them over time",
    body: z.strictObject({
      fingerprint: z.string().optional(),
      queue: z.string().optional(),
      type: z.string().optional(),
      since: timeInput.optional().meta({ description: "failed at this time or later" }),
      until: timeInput.optional().meta({ description: "failed before this time" }),
      attempts: z.number().int().min(1).max(1000).optional(),
      perSecond: z.number().positive().optional(),
      startAt: z.iso.datetime({ offset: true }).optional(),
      after: jobId.optional(),
      because,
      dryRun,
    }),
    answer: batched,
    async handle({ mill, looks, body, identity, act }) {
      const { because: why, dryRun: isPretended, ...which } = body;
      const { fingerprint, queue, type, since, until } = body;
      const object = `failures ${JSON.stringify(given({ fingerprint, queue, type, since, until }))}`;
      const endsAt = Date.now() + (isPretended ? countedMs : maxMs);
      let count = 0;
      let next: FailureRetry | null = isPretended
        ? { ...given(which), dryRun: true, limit: countedBatch }
        : { ...given(which), by: identity.name, ...given({ because: why }), limit: batch };
      do {
        const now: FailureRetry = next;
        const done = isPretended
          ? await looks(() => mill.engine.failureRetry(now))
          : await act(object, async (tx) => {
              const retried = await mill.engine.failureRetry(now, { tx });
              return { ...retried, count: retried.jobs };
            });
        count += done.jobs;
        next = done.next;
      } while (next && count < maxJobs && Date.now() < endsAt);
      if (!next) return { count, isExact: true };
      const { by: _by, limit: _limit, ...rest } = next;
      return { count, isExact: false, next: rest };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/replay",
    role: "admin",
    summary: "enqueue copies of jobs that ended within a time range, in the order in which they were enqueued",
    body: z.strictObject({
      since: z.iso.datetime({ offset: true }),
      until: z.iso.datetime({ offset: true }).optional(),
      queue: z.string().optional(),
      type: z.string().optional(),
      states: z
        .array(z.enum(["succeeded", "failed", "expired"]))
        .min(1)
        .max(3)
        .optional(),
      target: z.string().optional(),
      perSecond: z.number().positive().optional(),
      startAt: z.iso.datetime({ offset: true }).optional(),
      after: jobId.optional(),
      dryRun,
    }),
    answer: batched,
    async handle({ mill, body, act }) {
      const { since, until, queue, type } = body;
      const object = `jobs that ended ${JSON.stringify(given({ since, until, queue, type }))}`;
      let count = 0;
      let next: Replay | null = { ...given(body), limit: batch };
      while (next && count < maxJobs) {
        const now: Replay = next;
        const replayed = body.dryRun
          ? await mill.engine.replay(now)
          : await act(object, async (tx) => {
              const done = await mill.engine.replay(now, { tx });
              return { ...done, count: done.jobs };
            });
        count += replayed.jobs;
        next = replayed.next;
      }
      if (!next) return { count, isExact: true };
      const { limit: _limit, ...rest } = next;
      return { count, isExact: false, next: rest };
    },
  }),
];
