import { describe, expect, it } from "vitest";
import type { ClaimedJob, Defaults, ErrorRule, JobError } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";
import { invalidArgument } from "../support/steps.js";

const db = useDatabase();
let types = 0;
const newType = (): string => `ruled-${(types += 1)}`;
const rules: readonly ErrorRule[] = [
  { code: "ETIMEDOUT", delays: [10, 60] },
  { pattern: "^invalid|Schema", fail: true },
  { code: "EBUSY", pattern: "disk", retry: 7 },
  { pattern: "(?i)rate limit", retry: { base: 100, factor: 1, jitter: 0 } },
  { pattern: "ETIMEDOUT|disk", delays: [999] },
];

/** Seconds until the next attempt, after one that died of this error; the state when there is none. */
async function after(
  queue: string,
  error: JobError,
  job?: ClaimedJob,
  delaySeconds?: number,
): Promise<number | string> {
  const claimed = job ?? (await claimOne(db, queue));
  await db.engine.retryLater(claimed, error, delaySeconds);
  const { state, reason, runAt, updatedAt } = await jobOf(db, claimed.id);
  return state === "failed" ? `failed: ${reason}` : Math.round((runAt.getTime() - updatedAt.getTime()) / 1000);
}

/** Delays of all attempts that die of this error, and how it ends. */
async function course(queue: string, error: JobError, atMost = 30): Promise<(number | string)[]> {
  const seen: (number | string)[] = [];
  while (seen.length < atMost && typeof seen.at(-1) !== "string") {
    const delay = await after(queue, error);
    seen.push(delay);
    if (typeof delay === "number") await db.moveClock(delay + 1);
  }
  return seen;
}

describe("rules by error", () => {
  it("decide delay and cap by the first match: a list of delays, or failure at once [#178]", async () => {
    const queue = await newQueue(db, { errorRules: rules });
    for (const [error, expected] of [
      [{ message: "timed out", code: "ETIMEDOUT" }, [10, 60, "failed: exhausted"]],
      [{ message: "invalid input" }, ["failed: permanent"]],
      [{ message: "no", name: "SchemaError" }, ["failed: permanent"]],
      [{ message: "disk is full" }, [999, "failed: exhausted"]],
    ] as const) {
      await enqueue(db, queue);
      expect(await course(queue, error)).toEqual(expected);
    }
  });

  it("leave errors that none of them matches to the default policy and maxAttempts [#178]", async () => {
    const queue = await newQueue(db, { errorRules: rules, retry: 3 });
    await enqueue(db, queue, { maxAttempts: 4 });
    expect(await course(queue, { message: "anything else" })).toEqual([3, 3, 3, "failed: exhausted"]);
    await enqueue(db, queue, { maxAttempts: 2, retry: 5 });
    await db.engine.retryLater(await claimOne(db, queue)); // no error at all
    await db.moveClock(6);
    expect(await course(queue, { message: "is invalid", code: "EINVAL" })).toEqual(["failed: exhausted"]);
  });

  it("with a policy keep the job's own number of attempts; code and pattern must both match [#178]", async () => {
    const queue = await newQueue(db, { errorRules: rules, retry: 3 });
    await enqueue(db, queue, { maxAttempts: 3 });
    expect(await course(queue, { message: "Rate Limit hit" })).toEqual([100, 100, "failed: exhausted"]);
    await enqueue(db, queue, { maxAttempts: 2 });
    expect(await course(queue, { message: "the disk is busy", code: "EBUSY" })).toEqual([7, "failed: exhausted"]);
    await enqueue(db, queue, { maxAttempts: 2 });
    expect(await course(queue, { message: "the lock is busy", code: "EBUSY" })).toEqual([3, "failed: exhausted"]);
  });

  it("with a list decide how many retries there are, more or fewer than maxAttempts says [#178]", async () => {
    const queue = await newQueue(db, { errorRules: [{ code: "MORE", delays: [1, 2, 3] }] });
    await enqueue(db, queue, { maxAttempts: 1 });
    expect(await course(queue, { message: "x", code: "MORE" })).toEqual([1, 2, 3, "failed: exhausted"]);
    await enqueue(db, queue, { maxAttempts: 1 });
    expect(await course(queue, { message: "x", code: "OTHER" })).toEqual(["failed: exhausted"]);
  });

  it("take the delay of the attempt that failed, when errors change from one to the next [#178]", async () => {
    const queue = await newQueue(db, { errorRules: rules, retry: 3 });
    await enqueue(db, queue);
    expect(await after(queue, { message: "anything" })).toBe(3);
    await db.moveClock(4);
    expect(await after(queue, { message: "x", code: "ETIMEDOUT" })).toBe(60);
    await db.moveClock(61);
    expect(await after(queue, { message: "x", code: "ETIMEDOUT" })).toBe("failed: exhausted");
  });

  it("yield to what the handler says: a permanent failure, or an explicit delay, and then maxAttempts [#178]", async () => {
    const queue = await newQueue(db, { errorRules: rules });
    const id = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "x", code: "ETIMEDOUT" });
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "permanent" });
    await enqueue(db, queue, { maxAttempts: 2 });
    expect(await after(queue, { message: "invalid" }, undefined, 33)).toBe(33);
    await db.moveClock(34);
    expect(await after(queue, { message: "invalid" }, undefined, 33)).toBe("failed: exhausted");
  });

  it("begin anew after retries were added, and never exceed what was added [#178] [#133]", async () => {
    const queue = await newQueue(db, { errorRules: [{ code: "E", delays: [10, 60] }] });
    const id = await enqueue(db, queue);
    const error = { message: "x", code: "E" };
    expect(await course(queue, error)).toEqual([10, 60, "failed: exhausted"]);
    await db.engine.retry(2, { ids: [id] });
    expect(await course(queue, error)).toEqual([10, "failed: exhausted"]);
    await db.engine.retry(9, { ids: [id] });
    expect(await course(queue, error)).toEqual([10, 60, "failed: exhausted"]);
  });

  it("of a type stand before those of its queue, and those before the cell's [#178]", async () => {
    const type = newType();
    const rule = (delay: number): Defaults => ({ errorRules: [{ pattern: "x", delays: [delay] }] });
    const [plain, ruled] = [await newQueue(db), await newQueue(db, rule(2))];
    await db.engine.cellPut(rule(1));
    try {
      for (const queue of [plain, ruled]) await enqueue(db, queue, { type });
      expect([await after(plain, { message: "x" }), await after(ruled, { message: "x" })]).toEqual([1, 2]);
      await db.engine.typePut(type, rule(3));
      await enqueue(db, ruled, { type });
      expect(await after(ruled, { message: "x" })).toBe(3);
    } finally {
      await db.engine.cellPut({ errorRules: null });
    }
  });

  it("speak of lost attempts only by the code lost, and those still run alone [#178]", async () => {
    const queue = await newQueue(db, { errorRules: [{ pattern: ".", fail: true }], leaseSeconds: 1 });
    const id = await enqueue(db, queue);
    await claimOne(db, queue);
    await db.moveClock(2);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "ready" });

    await db.engine.queuePut(queue, { errorRules: [{ code: "lost", delays: [60, 60] }] });
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2 });
    await db.moveClock(2);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("delayed");
    await db.moveClock(61);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 3, alone: true });
    await db.moveClock(2);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "lost" });
  });

  it("reach jobs that are settled together, and their dead letters [#178]", async () => {
    const dead = await newQueue(db);
    const queue = await newQueue(db, { errorRules: [{ pattern: "gone", fail: true }], deadLetterQueue: dead });
    await db.engine.enqueueMany("t", [1, 2, 3], { queue });
    const jobs = await db.engine.claim({ queues: [queue], limit: 3 });
    const settle = { token: jobs[0]!.token, outcome: "retryLater" as const };
    await db.engine.settle([
      { ...settle, jobs: [jobs[0]!.id, jobs[1]!.id], error: { message: "gone" } },
      { ...settle, jobs: [jobs[2]!.id], error: { message: "later" } },
    ]);
    expect((await db.engine.list({ queue })).map(({ state }) => state)).toEqual(["delayed", "failed", "failed"]);
    expect(await db.engine.queueDepth(dead)).toMatchObject({ ready: 2 });
  });

  it("give a computed time to live the delays of the rule that the first failure matched", async () => {
    const queue = await newQueue(db, { errorRules: [{ pattern: "x", delays: [100, 100] }] });
    await enqueue(db, queue, { ttlSeconds: "computed", attemptTimeoutSeconds: 10, maxAttempts: 2, retry: 1 });
    expect(await course(queue, { message: "x" })).toEqual([100, 100, "failed: exhausted"]);
  });

  it("match an error that SQL reports as a plain text, and are not confused by odd ones [#178]", async () => {
    const queue = await newQueue(db, { errorRules: [{ pattern: "^gone$", fail: true }], retry: 5 });
    for (const [error, state] of [
      ['"gone"', "failed"],
      ['{"message": null}', "delayed"],
      ["null", "delayed"],
      ["[1]", "delayed"],
      ['{"message": {"gone": true}, "code": 7}', "delayed"],
    ] as const) {
      const id = await enqueue(db, queue);
      const { token } = await claimOne(db, queue);
      await db.sql("select job_retry_later($1, array[$2::bigint], $3)", [token, id, error]);
      expect((await jobOf(db, id)).state).toBe(state);
    }
  });

  it("take no longer than the text allows, whatever a hostile message says", async () => {
    const queue = await newQueue(db, {
      errorRules: [
        { pattern: "^(a+)+$", fail: true },
        { pattern: "(a|aa)*b", fail: true },
      ],
      retry: 5,
    });
    await enqueue(db, queue);
    const startedAt = performance.now();
    expect(await after(queue, { message: `${"a".repeat(900)}!${"a".repeat(100_000)}` })).toBe(5);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it("that cannot be used are refused when they are set, with what to do, and nothing is kept [#178]", async () => {
    const queue = await newQueue(db, { errorRules: [{ code: "A", fail: true }] });
    const bad: unknown[] = [
      [],
      {},
      "x",
      Array.from({ length: 101 }, () => ({ code: "A", fail: true })),
      [1],
      [{ fail: true }],
      [{ code: "A" }],
      [{ code: "A", fail: true, delays: [1] }],
      [{ code: "A", fail: false }],
      [{ code: "", fail: true }],
      [{ code: 1, fail: true }],
      [{ pattern: "(", fail: true }],
      [{ pattern: "[b-a]", fail: true }],
      [{ pattern: "", fail: true }],
      [{ pattern: "x".repeat(201), fail: true }],
      [{ pattern: String.raw`(a)\1`, fail: true }],
      [{ pattern: 1, fail: true }],
      [{ code: "A", delays: [] }],
      [{ code: "A", delays: [-1] }],
      [{ code: "A", delays: 5 }],
      [{ code: "A", retry: "soon" }],
      [{ code: "A", retry: null }],
      [{ code: "A", fail: true, codes: [] }],
    ];
    for (const errorRules of bad)
      await expect(
        db.engine.queuePut(queue, { errorRules } as Defaults),
        JSON.stringify(errorRules),
      ).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.typePut("t", { errorRules: [{ pattern: "(", fail: true }] })).rejects.toMatchObject(
      invalidArgument,
    );
    expect((await db.engine.queues()).find(({ name }) => name === queue)?.options).toEqual({
      errorRules: [{ code: "A", fail: true }],
    });
    expect(await db.engine.queuePut(queue, { errorRules: null })).toEqual({});
  });
});
