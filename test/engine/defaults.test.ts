import { describe, expect, it } from "vitest";
import type { Defaults, EnqueueOptions } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();
let types = 0;

const typeDefaults = {
  priority: 8,
  maxAttempts: 7,
  ttlSeconds: 700,
  attemptTimeoutSeconds: 70,
  retry: [7, 77],
  leaseSeconds: 17,
} satisfies Defaults;

/** What one job of a type with these defaults gets, in the words of the options. */
async function effective(options: EnqueueOptions, defaults: Defaults = typeDefaults): Promise<Record<string, unknown>> {
  const queue = await newQueue(db);
  const type = `type-${(types += 1)}`;
  await db.engine.typePut(type, defaults);
  const { id } = await db.engine.enqueue({ type, queue, ...options });
  const job = await jobOf(db, id);
  const claimed = await claimOne(db, queue);
  await db.engine.retryLater(claimed);
  const retried = await jobOf(db, id);
  return {
    priority: job.priority,
    maxAttempts: job.maxAttempts,
    ttlSeconds: job.expiresAt && (job.expiresAt.getTime() - job.runAt.getTime()) / 1000,
    attemptTimeoutSeconds: claimed.attemptTimeoutSeconds ?? Number.NaN,
    retryDelaySeconds: (retried.runAt.getTime() - retried.updatedAt.getTime()) / 1000,
    leaseSeconds: (claimed.leaseEndsAt.getTime() - claimed.claimedAt.getTime()) / 1000,
  };
}

const expected = {
  priority: 8,
  maxAttempts: 7,
  ttlSeconds: 700,
  attemptTimeoutSeconds: 70,
  retryDelaySeconds: 7,
  leaseSeconds: 17,
};

describe("options of one job", () => {
  it("are all its type's when it gives none [#145]", async () => {
    expect(await effective({})).toEqual(expected);
  });

  it.each<[keyof EnqueueOptions, EnqueueOptions, Partial<typeof expected>]>([
    ["priority", { priority: 0 }, { priority: 0 }],
    ["maxAttempts", { maxAttempts: 2 }, { maxAttempts: 2 }],
    ["ttlSeconds", { ttlSeconds: 9 }, { ttlSeconds: 9 }],
    ["attemptTimeoutSeconds", { attemptTimeoutSeconds: 1.5 }, { attemptTimeoutSeconds: 1.5 }],
    ["retry", { retry: 3 }, { retryDelaySeconds: 3 }],
    ["tenant", { tenant: "acme" }, {}],
    ["headers", { headers: { h: 1 } }, {}],
  ])("that set only %s keep all other defaults of the type [#145]", async (_, options, changed) => {
    expect(await effective(options)).toEqual({ ...expected, ...changed });
  });

  it("keep the type's defaults where they are undefined [#145]", async () => {
    const options = {
      priority: undefined,
      maxAttempts: undefined,
      ttlSeconds: undefined,
      attemptTimeoutSeconds: undefined,
      retry: undefined,
    };
    expect(await effective(options as unknown as EnqueueOptions)).toEqual(expected);
  });

  it("apply to each job of a batch alone [#145]", async () => {
    const type = `type-${(types += 1)}`;
    await db.engine.typePut(type, typeDefaults);
    const made = await db.engine.enqueueEach([{ type, priority: 1 }, { type, maxAttempts: 3 }, { type }]);
    const jobs = await Promise.all(made.map(({ id }) => jobOf(db, id)));
    expect(jobs.map((job) => [job.priority, job.maxAttempts])).toEqual([
      [1, 7],
      [8, 3],
      [8, 7],
    ]);
  });
});

describe("defaults of a type", () => {
  it("that set only one field keep those of queue and cell [#145]", async () => {
    const queue = await newQueue(db, { maxAttempts: 4, retry: 44 });
    const type = `type-${(types += 1)}`;
    await db.engine.typePut(type, { priority: 2 });
    const { id } = await db.engine.enqueue({ type, queue });
    expect(await jobOf(db, id)).toMatchObject({ priority: 2, maxAttempts: 4 });
  });

  it("are changed one at a time, and removed by null [#145]", async () => {
    const type = `type-${(types += 1)}`;
    await db.engine.typePut(type, { priority: 2, maxAttempts: 4 });
    await db.engine.typePut(type, { maxAttempts: 6 });
    expect(await jobOf(db, (await db.engine.enqueue({ type })).id)).toMatchObject({ priority: 2, maxAttempts: 6 });
    await db.engine.typePut(type, { priority: null });
    expect(await jobOf(db, (await db.engine.enqueue({ type })).id)).toMatchObject({ priority: 5, maxAttempts: 6 });
  });
});

describe("a job without options of its own", () => {
  it.each([
    ["nothing", {}, {}],
    ["the queue", { priority: 2, ttlSeconds: 60 }, {}],
    ["the type", { priority: 2 }, { priority: 7, maxAttempts: 3, attemptTimeoutSeconds: 5, ttlSeconds: 10 }],
  ])(
    "is planned by the short way as by the long one, where defaults come from %s [#9 #34]",
    async (_, ofQueue, ofType) => {
      await db.engine.queuePut("planned", { priority: null, ttlSeconds: null, ...ofQueue });
      await db.engine.typePut("planned", {
        priority: null,
        maxAttempts: null,
        attemptTimeoutSeconds: null,
        ttlSeconds: null,
        ...ofType,
      });
      const [row] = await db.sql(`
      select to_jsonb(s) - '{run_at,start_by}'::text[] as short, to_jsonb(l) - '{run_at,start_by}'::text[] as long,
             (s.start_by - s.run_at)::text as short_life, (l.start_by - l.run_at)::text as long_life
        from plan_plain('planned', 'planned') s, plan_resolve('[{"queue": "planned", "type": "planned"}]') l`);
      expect(row!["short"]).toEqual(row!["long"]);
      expect(row!["short_life"]).toBe(row!["long_life"]);
    },
  );
});
