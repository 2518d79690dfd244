import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import type { JobDetails, JobId } from "../../src/db/types.js";
import { failed, release, retryLater } from "../../src/worker/outcome.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { clockNow } from "../support/clock.js";
import { useMill } from "../support/mill.js";
import { gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");
const again = { retryDelay: 0 } as const;

async function details(id: JobId): Promise<JobDetails> {
  const found = await test.mill.jobs.get(id);
  if (!found) throw new Error(`there is no job ${id}`);
  return found;
}

async function ended(id: JobId): Promise<JobDetails> {
  await test.mill.result(id).catch(() => {});
  return details(id);
}

describe("a handler that returns", () => {
  it("makes its job succeeded, with a finish time and the result, which no claim returns again [#5 #26 #119 #175]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, ({ input }) => ({ doubled: 2 * input.n! }))
      .start();
    const { id } = await test.mill.enqueue(work, { n: 21 }, { queue });
    expect(await test.mill.result(id)).toEqual({ doubled: 42 });
    const { job, attempts } = await details(id);
    expect(job).toMatchObject({ state: "succeeded", attempts: 1, result: { doubled: 42 }, lastError: null });
    expect(job.finishedAt!.getTime()).toBeGreaterThanOrEqual(job.lastAttemptAt!.getTime());
    expect(job.updatedAt.getTime()).toBeGreaterThanOrEqual(job.createdAt.getTime());
    expect(attempts).toMatchObject([{ attempt: 1, outcome: "succeeded", finalState: "succeeded" }]);
    expect(await test.db.engine.claim({ queues: [queue] })).toEqual([]);
  });

  it("with more than a result may have fails for good, and those reported beside it succeed", async () => {
    const queue = await test.queue();
    const { mill } = test;
    const jobs = await mill.enqueueMany(
      work,
      Array.from({ length: 20 }, (_, n) => ({ n })),
      { queue },
    );
    await test
      .worker(queue, { concurrency: 20 })
      .handle(work, ({ input }) => (input.n === 7 ? "x".repeat(17_000_000) : input.n))
      .start();
    for (const [n, { id }] of jobs.entries()) if (n !== 7) expect(await mill.result(id)).toBe(n);
    const { job, attempts } = await ended(jobs[7]!.id);
    expect(job).toMatchObject({ state: "failed", attempts: 1 });
    expect(attempts[0]?.error).toMatchObject({
      code: "MR004",
      message: expect.stringContaining("17000002 bytes are more than the limit of 16777216"),
    });
  });

  it("is called with the job and its attempt while the job is running with worker and start time [#118 #174 #98]", async () => {
    const queue = await test.queue();
    const go = gate();
    const worker = test.worker(queue, { name: "host:1" }).handle(work, async (job, { progress }) => {
      await progress({ done: 0.5 });
      const seen = await details(job.id);
      await go.opened;
      return { state: seen.job.state, attempt: job.attempt };
    });
    const { id } = await test.mill.enqueue(work, {}, { queue });
    expect(await details(id)).toMatchObject({ job: { state: "ready", attempts: 0, worker: null } });
    await worker.start();
    await until("progress is seen", async () => (await test.mill.jobs.progress(id)) !== null);
    const [listed] = await test.mill.jobs.list({ queue, state: "running" });
    expect(listed).toMatchObject({ id, worker: "host:1", attempts: 1, leaseEnded: false });
    expect(listed!.leaseEndsAt!.getTime()).toBeGreaterThan(listed!.lastAttemptAt!.getTime());
    const [claim] = await test.db.sql(
      "select worker, started_at, elapsed, lease_ends_at, progress from claims where job_id = $1",
      [id],
    );
    expect(claim).toMatchObject({ worker: "host:1", progress: { done: 0.5 } });
    go.open();
    expect(await test.mill.result(id)).toEqual({ state: "running", attempt: 1 });
  });

  it("leaves times of the database's clock, wherever the worker's own stands [#28]", async () => {
    const queue = await test.queue();
    await test.db.moveClock(3600);
    await test
      .worker(queue)
      .handle(work, () => {})
      .start();
    const before = await clockNow(test.db);
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await test.mill.result(id);
    const { job } = await details(id);
    const times = [
      before,
      job.createdAt,
      job.lastAttemptAt!,
      job.finishedAt!,
      job.updatedAt,
      await clockNow(test.db),
    ].map((time) => time.getTime());
    expect(times).toEqual(times.toSorted((x, y) => x - y));
  });

  it("without a value leaves a null result [#26]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, () => {})
      .start();
    expect(await test.mill.result(await test.mill.enqueue(work, {}, { queue }))).toBeNull();
  });

  it("gives results of several jobs to the right ones, also when some have none [#26]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, ({ input }) => (input.n! % 2 === 0 ? input.n : undefined))
      .start();
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 50 }, (_, n) => ({ n })),
      { queue },
    );
    expect(await Promise.all(made.map((job) => test.mill.result(job)))).toEqual(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? n : null)),
    );
  });
});

describe("a handler that throws", () => {
  it("is called exactly maxAttempts times, sees the last one, and leaves its job failed as exhausted [#17 #16]", async () => {
    const queue = await test.queue();
    const seen: [number, boolean][] = [];
    await test
      .worker(queue)
      .handle(work, (job) => {
        seen.push([job.attempt, job.isLastAttempt]);
        throw new Error(`attempt ${job.attempt}`);
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, maxAttempts: 3, ...again });
    const { job, attempts } = await ended(id);
    expect(seen).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(job).toMatchObject({
      state: "failed",
      reason: "exhausted",
      attempts: 3,
      lastError: { message: "attempt 3" },
    });
    expect(job.finishedAt).not.toBeNull();
    expect(attempts.map((attempt) => attempt.error?.message)).toEqual(["attempt 1", "attempt 2", "attempt 3"]);
  });

  it("on attempts 1 and 2 of 3 leaves a succeeded job with two stored errors [#115 #31]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, ({ attempt }) => {
        if (attempt < 3) throw new Error(`no ${attempt}`);
        return "third time lucky";
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, maxAttempts: 3, ...again });
    const { job, attempts } = await ended(id);
    expect(job).toMatchObject({ state: "succeeded", attempts: 3, result: "third time lucky" });
    expect(attempts.map((one) => [one.outcome, one.error?.message ?? null])).toEqual([
      ["failed", "no 1"],
      ["failed", "no 2"],
      ["succeeded", null],
    ]);
  });

  it("with maxAttempts 1 has failed for good [#126]", async () => {
    const queue = await test.queue();
    let calls = 0;
    await test
      .worker(queue)
      .handle(work, () => {
        calls += 1;
        throw new Error("once");
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 })).id);
    expect(job).toMatchObject({ state: "failed", reason: "exhausted", attempts: 1 });
    expect(calls).toBe(1);
  });

  it("a PermanentError fails on attempt 1 of 25, with reason and stack, and nothing claims it again [#6 #27 #31 #177]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, () => {
        throw new PermanentError("no such customer");
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue })).id);
    expect(job).toMatchObject({ state: "failed", reason: "permanent", attempts: 1, maxAttempts: 25 });
    expect(job.lastError).toMatchObject({
      name: "PermanentError",
      message: "no such customer",
      stack: expect.stringContaining("outcomes.test"),
    });
    expect(job.finishedAt).not.toBeNull();
    expect(await test.db.engine.claim({ queues: [queue] })).toEqual([]);
  });

  it("a permanent error wrapped three levels deep is called once and has failed as permanent [#140]", async () => {
    const queue = await test.queue();
    let calls = 0;
    await test
      .worker(queue)
      .handle(work, () => {
        calls += 1;
        const third = new Error("third", { cause: new PermanentError("deep inside") });
        throw new Error("first", { cause: new Error("second", { cause: third }) });
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue, ...again })).id);
    expect(calls).toBe(1);
    expect(job).toMatchObject({ state: "failed", reason: "permanent", attempts: 1 });
    expect(job.lastError).toMatchObject({
      message: "first",
      cause: { message: "second", cause: { message: "third", cause: { message: "deep inside" } } },
    });
  });

  it("an error that causes itself is stored all the same [#141]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, () => {
        const error = new Error("round and round");
        error.cause = error;
        throw error;
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 })).id);
    expect(job.lastError).toMatchObject({ message: "round and round" });
  });

  it("NUL and half characters, wherever they are in an error, do not change what becomes of the job [#27 #141]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, (_, { log }) => {
        log("a note with \0");
        throw new PermanentError("outer \0 \uD800", { cause: new Error("inner \0 \uDFFF") });
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue, ...again })).id);
    expect(job).toMatchObject({ state: "failed", reason: "permanent", attempts: 1 });
    expect(job.lastError).toMatchObject({ message: "outer \uFFFD \uFFFD", cause: { message: "inner \uFFFD \uFFFD" } });
  });

  it("keeps what it logged with the attempt [#27]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, (_, { log }) => {
        for (let line = 1; line <= 120; line += 1) log(`line ${line}`);
        throw new Error("after logging");
      })
      .start();
    const { job } = await ended((await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 })).id);
    const lines = job.lastError!["log"] as string[];
    expect(lines).toHaveLength(100);
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\dT.* line 120$/);
  });

  it("keeps what it logged when it succeeds, apart from others that end with it [#27]", async () => {
    const queue = await test.queue();
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 30 }, (_, n) => ({ n })),
      { queue },
    );
    await test
      .worker(queue)
      .handle(work, ({ input }, { log }) => {
        if ((input as { n: number }).n % 2 === 0) log(`even ${(input as { n: number }).n}`);
        return (input as { n: number }).n % 3 === 0 ? input : undefined;
      })
      .start();
    for (const [n, { id }] of made.entries()) {
      const { attempts } = await ended(id);
      expect(attempts[0]!.result).toEqual(n % 3 === 0 ? { n } : null);
      expect(attempts[0]!.log?.map((line) => line.slice(25))).toEqual(n % 2 === 0 ? [`even ${n}`] : undefined);
    }
  });
});

describe("retry delays", () => {
  const failing = async (
    options: Parameters<typeof test.mill.enqueue>[2],
  ): Promise<{ id: JobId; waits: () => Promise<number[]> }> => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, () => {
      throw new Error("again");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, {}, { ...options, queue });
    return {
      id,
      waits: async () => {
        const waits: number[] = [];
        for (;;) {
          await until(
            "the attempt is over",
            async () =>
              (await details(id)).job.state !== "running" && (await details(id)).attempts.length === waits.length + 1,
          );
          const { job, attempts } = await details(id);
          if (job.state === "failed") return waits;
          const seconds = (job.runAt.getTime() - attempts.at(-1)!.finishedAt.getTime()) / 1000;
          waits.push(seconds);
          await test.db.moveClock(seconds + 1);
        }
      },
    };
  };

  it("go through a list, whose last entry repeats, also for retries granted later [#130]", async () => {
    const { id, waits } = await failing({ maxAttempts: 4, retryDelay: ["1m", { minutes: 5 }] });
    expect((await waits()).map(Math.round)).toEqual([60, 300, 300]);
    expect(await test.mill.retry(id, { attempts: 2 })).toBe(true);
    await until("both are used", async () => {
      const { job, attempts } = await details(id);
      if (attempts.length === 5 && job.state === "delayed") {
        expect(Math.round((job.runAt.getTime() - attempts[4]!.finishedAt.getTime()) / 1000)).toBe(300);
        await test.db.moveClock(301);
      }
      return attempts.length === 6;
    });
    expect((await details(id)).job).toMatchObject({ state: "failed", attempts: 6 });
  });

  it("are constant when one is given [#130]", async () => {
    const { waits } = await failing({ maxAttempts: 3, retryDelay: "90s" });
    expect((await waits()).map(Math.round)).toEqual([90, 90]);
  });

  it("grow by a factor up to a cap, within the jitter [#131]", async () => {
    const { waits } = await failing({ maxAttempts: 6, retryDelay: { base: "10s", factor: 3, cap: "2m", jitter: 0.2 } });
    const got = await waits();
    expect(got).toHaveLength(5);
    for (const [k, wait] of got.entries()) {
      const middle = Math.min(10 * 3 ** k, 120);
      expect(wait).toBeGreaterThanOrEqual(0.8 * middle - 0.01);
      expect(wait).toBeLessThanOrEqual(1.2 * middle + 0.01);
    }
  });
});

describe("what a handler may decide", () => {
  it("retryLater counts the attempt and waits as long as it says [#31]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, ({ attempt }) => (attempt === 1 ? retryLater("10m", "not ready yet") : "ready now"))
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await until("it waits", async () => (await details(id)).job.state === "delayed");
    const { job, attempts } = await details(id);
    expect(Math.round((job.runAt.getTime() - attempts[0]!.finishedAt.getTime()) / 1000)).toBe(600);
    expect(job).toMatchObject({ attempts: 1, lastError: { message: "not ready yet" } });
    await test.db.moveClock(601);
    expect(await test.mill.result(id)).toBe("ready now");
  });

  it("release gives the job back without using the attempt [#16]", async () => {
    const queue = await test.queue();
    let calls = 0;
    await test
      .worker(queue)
      .handle(work, ({ attempt }) => {
        calls += 1;
        return calls < 4 ? release() : attempt;
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 });
    expect(await test.mill.result(id)).toBe(1);
    expect(await details(id)).toMatchObject({ job: { attempts: 1 }, attempts: [{ outcome: "succeeded" }] });
  });

  it("completing in a transaction of its own shows both or neither [#93]", async () => {
    const queue = await test.queue();
    await test.db.sql("create table public.charges (n int primary key)");
    await test
      .worker(queue)
      .handle(work, async (job) => {
        const tx = await test.db.pool.connect();
        try {
          await tx.query("begin");
          await tx.query("insert into public.charges values ($1)", [job.attempt]);
          await job.complete("charged", { tx });
          expect((await details(job.id)).job.state).toBe("running");
          if (job.attempt === 1) throw new Error("before the commit");
          await tx.query("commit");
        } catch (error) {
          await tx.query("rollback");
          throw error;
        } finally {
          tx.release();
        }
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, ...again });
    expect(await test.mill.result(id)).toBe("charged");
    expect(await test.db.sql("select n from public.charges")).toEqual([{ n: 2 }]);
    expect((await details(id)).attempts.map((one) => one.outcome)).toEqual(["failed", "succeeded"]);
  });

  it("one that goes on after its own commit is left in peace by the heartbeat [#93 #95]", async () => {
    const queue = await test.queue();
    const [events, aborted] = [[] as string[], [] as unknown[]];
    const worker = test.worker(queue, { lease: "1s" }).handle(work, async (job, { signal }) => {
      await job.complete("done", { tx: await test.db.connect() });
      // work for others is still done here while several beats of the heart go by
      await sleep(1500);
      aborted.push(signal.aborted);
    });
    worker.on("lost", () => events.push("lost")).on("success", () => events.push("success"));
    await worker.start();
    const { id } = await test.mill.enqueue(work, {}, { queue });
    expect(await test.mill.result(id)).toBe("done");
    await until("the handler has ended", () => events.length > 0);
    expect([events, aborted]).toEqual([["success"], [false]]);
  });
});

describe("a batch handler", () => {
  it("decides on each job by itself [#116]", async () => {
    const queue = await test.queue();
    const sizes: number[] = [];
    const worker = test.worker(queue).handleBatch(
      work,
      (jobs) => {
        sizes.push(jobs.length);
        return jobs.map(({ input, attempt }) => {
          if (input.n === 1) return failed(new PermanentError("bad one"));
          if (input.n === 2 && attempt === 1) return failed(new Error("once more"));
          return input.n;
        });
      },
      { size: 4 },
    );
    const made = await test.mill.enqueueMany(work, [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }], {
      queue,
      ...again,
    });
    await worker.start();
    const results = await Promise.allSettled(made.map((job) => test.mill.result(job)));
    expect(results.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).name))).toEqual([
      0,
      "JobFailedError",
      2,
      3,
      4,
    ]);
    expect((await details(made[2]!.id)).job.attempts).toBe(2);
    expect(Math.max(...sizes)).toBe(4);
  });

  it("that throws, or returns the wrong number of outcomes, fails them all [#116 #141]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handleBatch(work, (jobs) => {
      if (jobs[0]!.attempt === 1) throw new Error("all of them");
      return [1];
    });
    const made = await test.mill.enqueueMany(work, [{}, {}, {}], { queue, maxAttempts: 2, ...again });
    await worker.start();
    for (const { id } of made) {
      const { job, attempts } = await ended(id);
      expect(job.state).toBe("failed");
      expect(attempts[0]!.error!.message).toBe("all of them");
      expect(attempts[1]!.error!.message).toContain("must return");
    }
  });
});

describe("after the end", () => {
  it("a failed job stays listed, and can be retried once per decision [#176 #177]", async () => {
    const queue = await test.queue();
    let good = false;
    await test
      .worker(queue)
      .handle(work, () => {
        if (!good) throw new PermanentError("not yet");
        return "fixed";
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await ended(id);
    expect(await test.mill.jobs.list({ queue, state: "failed" })).toMatchObject([{ id, reason: "permanent" }]);
    good = true;
    expect(await test.mill.retry(id)).toBe(true);
    expect(await test.mill.result(id)).toBe("fixed");
    expect(await test.mill.retry(id)).toBe(false);
    expect((await details(id)).attempts.map((one) => one.outcome)).toEqual(["failed", "succeeded"]);
  });

  it("a permanent failure puts one copy into the dead letter queue [#177]", async () => {
    const letters = await test.queue();
    const queue = await test.queue({ deadLetterQueue: letters });
    await test
      .worker(queue)
      .handle(work, () => {
        throw new PermanentError("for the dead letters");
      })
      .start();
    const { id } = await test.mill.enqueue(work, { n: 7 }, { queue });
    await ended(id);
    expect(await test.mill.jobs.list({ queue: letters })).toMatchObject([{ input: { n: 7 }, state: "ready" }]);
  });
});
