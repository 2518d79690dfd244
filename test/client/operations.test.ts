import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { retryLater } from "../../src/worker/outcome.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { useMill } from "../support/mill.js";
import { invalidArgument } from "../support/steps.js";
import { gate } from "../support/wait.js";

const test = useMill();
const work = defineJob<string>("work");

describe("settings", () => {
  it("of types and of the cell are durations here, and seconds below; what is not given stays [#34]", async () => {
    const { mill, db } = test;
    await mill.types.put("slow", { lease: "2m", retryDelay: ["1s", "1m"], breaker: { within: "1m", pause: 500 } });
    await mill.types.put("slow", { maxRunning: 2 });
    expect(await db.engine.typePut("slow", {})).toEqual({
      leaseSeconds: 120,
      retry: [1, 60],
      breaker: { withinSeconds: 60, pauseSeconds: 0.5 },
      maxRunning: 2,
    });
    await mill.cell.put({ retentionSucceeded: "1d", retentionResults: { hours: 1 } });
    const kept = { retentionSucceededSeconds: 86_400, retentionResultsSeconds: 3600 };
    expect(await db.engine.cellPut({})).toMatchObject(kept);
    await mill.cell.put({ retentionSucceeded: null, retentionResults: null });
    expect(await db.engine.cellPut({})).not.toHaveProperty("retentionSucceededSeconds");
    await expect(mill.cell.put({ maxRunning: 1 } as never)).rejects.toMatchObject(invalidArgument);
    await expect(mill.types.put("slow", { maxDepth: 1 } as never)).rejects.toMatchObject(invalidArgument);
  });
});

describe("failures", () => {
  it("follow the rules of their queue, unless the handler decides [#178]", async () => {
    const queue = await test.queue();
    await test.mill.queues.put(queue, {
      errorRules: [
        { code: "EGONE", fail: true },
        { pattern: "^busy", delays: ["1h"] },
      ],
    });
    const errors: Record<string, () => unknown> = {
      gone: () => {
        throw Object.assign(new Error("the file has gone"), { code: "EGONE" });
      },
      busy: () => {
        throw new Error("busy right now");
      },
      later: () => retryLater("2h", "busy elsewhere"),
      permanent: () => {
        throw new PermanentError("busy for good");
      },
    };
    const worker = test.worker(queue).handle(work, ({ input }) => errors[input]!());
    const jobs = await test.mill.enqueueMany(work, ["gone", "busy", "later", "permanent"], { queue });
    await worker.start();
    const ended = async (): Promise<string[]> => {
      const details = await Promise.all(jobs.map(({ id }) => test.mill.jobs.get(id)));
      return details.map((one) => {
        const { state, reason, runAt, updatedAt } = one!.job;
        return state === "delayed"
          ? `in ${Math.round((runAt.getTime() - updatedAt.getTime()) / 3_600_000)} h`
          : `${state} ${reason}`;
      });
    };
    await expect.poll(ended, { timeout: 10_000 }).toEqual(["failed permanent", "in 1 h", "in 2 h", "failed permanent"]);
  });

  it("are grouped, retried at a rate and replayed in as many batches as it takes", async () => {
    const queue = await test.queue();
    const from = new Date(Date.now() - 60_000);
    const jobs = await test.mill.enqueueMany(work, Array.from({ length: 2100 }, String), { queue, maxAttempts: 1 });
    const { engine } = test.mill;
    const claimed = await engine.claim({ queues: [queue], limit: 2100 });
    await engine.settle(
      [...new Set(claimed.map(({ token }) => token))].map((token) => ({
        token,
        outcome: "failed" as const,
        jobs: claimed.filter((job) => job.token === token).map(({ id }) => id),
        error: { message: "cannot reach 10.0.0.1" },
      })),
    );
    const [group] = await test.mill.jobs.failures({ queue });
    expect(group).toMatchObject({ jobs: 2100, message: "cannot reach 10.0.0.1" });
    expect(await test.mill.jobs.replay({ since: from, queue, dryRun: true })).toEqual({ jobs: 2100, next: null });
    const part = await test.mill.jobs.replay({ since: from, queue, limit: 1500 });
    expect(part).toMatchObject({ jobs: 1500, next: { after: jobs[1499]!.id, limit: 1500 } });
    expect(await test.mill.jobs.replay(part.next!)).toEqual({ jobs: 600, next: null });
    await test.mill.queues.purge(queue);
    expect(await test.mill.jobs.failureRetry({ fingerprint: group!.fingerprint, perSecond: 10 })).toBe(2100);
    const last = (await test.mill.jobs.get(jobs[2099]!.id))!.job;
    const first = (await test.mill.jobs.get(jobs[0]!.id))!.job;
    expect((last.runAt.getTime() - first.updatedAt.getTime()) / 1000).toBeCloseTo(209.9, 0);
    await expect(test.mill.jobs.replay({ since: from, limit: 0 })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.jobs.failureRetry({ queue }, { tc: 1 } as never)).rejects.toMatchObject(invalidArgument);
  });

  it("open a breaker, and its workers go on when what they need is back", async () => {
    const queue = await test.queue();
    await test.mill.queues.put(queue, { breaker: { failures: 3, pause: 300 }, retryDelay: 0 });
    let isDown = true;
    let calls = 0;
    const worker = test.worker(queue, { concurrency: 1, pollInterval: 50 }).handle(work, () => {
      calls += 1;
      if (isDown) throw new Error("down");
    });
    const jobs = await test.mill.enqueueMany(work, Array.from({ length: 40 }, String), { queue });
    await worker.start();
    const state = async (): Promise<string | undefined> =>
      (await test.mill.queues.breakers()).find((one) => one.queue === queue)?.state;
    await expect.poll(state, { timeout: 10_000, interval: 5 }).toBe("open");
    expect(calls).toBeLessThan(40);
    isDown = false;
    await Promise.all(jobs.map((job) => test.mill.result(job, { timeout: "20s" })));
    expect(await state()).toBe("closed");
    expect(await test.mill.queues.breakerReset({ queue })).toBe(0);
  });
});

describe("looking at jobs", () => {
  it("counts those of a tenant in each state [#44]", async () => {
    const queue = await test.queue();
    await test.mill.enqueueMany(work, ["a", "b"], { queue, tenant: "acme" });
    await test.mill.enqueue(work, "c", { queue, tenant: "acme", delay: "1h" });
    await test.mill.enqueue(work, "d", { queue, tenant: "other" });
    const counts = {
      ready: 2,
      delayed: 1,
      running: 0,
      blocked: 0,
      succeeded: 0,
      failed: 0,
      expired: 0,
      cancelled: 0,
      suspended: 0,
    };
    expect(await test.mill.jobs.count({ tenant: "acme" })).toEqual(counts);
    expect(await test.mill.jobs.list({ tenant: "acme" })).toHaveLength(3);
    expect(await test.mill.jobs.cancel({ tenant: "acme" })).toBe(3);
    expect(await test.mill.jobs.count({ tenant: "acme" })).toEqual({ ...counts, ready: 0, delayed: 0, cancelled: 3 });
    await expect(test.mill.jobs.count({})).rejects.toMatchObject(invalidArgument);
  });

  it("tells which group dominates a queue [#37]", async () => {
    const queue = await test.queue();
    await test.mill.enqueueMany(work, ["a", "b", "c"], { queue, group: "noisy" });
    await test.mill.enqueue(work, "d", { queue, group: "quiet" });
    const [noisy, quiet] = [
      {
        group: "noisy",
        waiting: 3,
        ready: 3,
        blocked: 0,
        delayed: 0,
        running: 0,
        oldestAgeSeconds: expect.any(Number),
        share: 0.75,
        estimated: false,
      },
      {
        group: "quiet",
        waiting: 1,
        ready: 1,
        blocked: 0,
        delayed: 0,
        running: 0,
        oldestAgeSeconds: expect.any(Number),
        share: 0.25,
        estimated: false,
      },
    ];
    expect(await test.mill.queues.groups(queue)).toEqual([noisy, quiet]);
    expect(await test.mill.queues.groups(queue, 1)).toEqual([noisy]);
  });

  it("tells how long runs took, with windows as durations [#70]", async () => {
    const queue = await test.queue();
    const timed = defineJob<string>("timed");
    await test
      .worker(queue)
      .handle(timed, () => {})
      .start();
    const made = await test.mill.enqueueMany(timed, ["a", "b", "c"], { queue });
    await Promise.all(made.map((job) => test.mill.result(job)));
    const details = await Promise.all(made.map(({ id }) => test.mill.jobs.get(id)));
    const seconds = details.map(
      (one) => (one!.attempts[0]!.finishedAt.getTime() - one!.attempts[0]!.startedAt.getTime()) / 1000,
    );
    const stats = await test.mill.jobs.durations({ type: "timed", windows: ["1h", { days: 1 }] });
    expect(stats.map(({ windowSeconds, runs, succeeded }) => [windowSeconds, runs, succeeded])).toEqual([
      [3600, 3, 3],
      [86_400, 3, 3],
    ]);
    expect(stats[0]!.totalSeconds).toBeCloseTo(
      seconds.reduce((a, b) => a + b),
      1,
    );
    expect((await test.mill.jobs.durations({ type: "timed" })).map((one) => one.windowSeconds)).toEqual([
      60, 3600, 86_400,
    ]);
    await expect(test.mill.jobs.durations({ windows: ["soon"] })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.jobs.durations({ window: ["1h"] } as never)).rejects.toMatchObject(invalidArgument);
  });
});

describe("a job that has failed for good", () => {
  it("is retried or discarded by somebody, for a reason, once [#176]", async () => {
    const queue = await test.queue();
    const jobs = await test.mill.enqueueMany(work, ["retried", "discarded"], { queue, maxAttempts: 1 });
    for (const job of await test.mill.engine.claim({ queues: [queue], limit: 2 })) await test.mill.engine.fail(job);
    const [retried, discarded] = jobs as [(typeof jobs)[0], (typeof jobs)[0]];
    expect(await test.mill.jobs.list({ queue, undecided: true })).toHaveLength(2);
    expect(await test.mill.retry(retried, { by: "ann", because: "fixed" })).toBe(true);
    expect(await test.mill.retry(retried)).toBe(false);
    expect(await test.mill.jobs.discard(discarded, { by: "ann", because: "too late" })).toBe(true);
    expect(await test.mill.jobs.discard(discarded.id)).toBe(false);
    expect(await test.mill.retry(discarded)).toBe(false);
    expect(await test.mill.jobs.retry({ type: "work", queue, by: "bob" })).toBe(0);
    expect(await test.mill.jobs.list({ queue, undecided: true })).toEqual([]);
    expect(await test.mill.jobs.decisions(retried)).toMatchObject([
      { action: "retry", attempts: 1, by: "ann", because: "fixed" },
    ]);
    expect(await test.mill.jobs.decisions(discarded.id)).toMatchObject([
      { action: "discard", attempts: null, by: "ann", because: "too late" },
    ]);
    await expect(test.mill.jobs.discard(discarded, { reason: "x" } as never)).rejects.toMatchObject(invalidArgument);
  });
});

describe("ttl: computed", () => {
  it("may be given with a definition, for all its jobs [#138]", async () => {
    const queue = await test.queue();
    const limited = defineJob<string>("limited", {
      ttl: "computed",
      attemptTimeout: "10s",
      maxAttempts: 4,
      retryDelay: ["1m", "5m"],
    });
    const { id } = await test.mill.enqueue(limited, "a", { queue });
    const failed = gate();
    let startedAt = new Date(0);
    await test
      .worker(queue)
      .on("failure", () => failed.open())
      .handle(limited, (job) => {
        startedAt = job.claimedAt;
        throw new Error("no");
      })
      .start();
    await failed.opened;
    await expect.poll(async () => (await test.mill.jobs.get(id))!.job.state).toBe("delayed");
    const { job } = (await test.mill.jobs.get(id))!;
    expect((job.expiresAt!.getTime() - startedAt.getTime()) / 1000).toBeCloseTo(700, 1);
    await expect(test.mill.enqueue(limited, "a", { queue, maxAttempts: Infinity })).rejects.toMatchObject(
      invalidArgument,
    );
  });
});
