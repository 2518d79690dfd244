import { describe, expect } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { it } from "../support/processes.js";

const test = useMill();
const work = defineJob<{ sleepMs?: number }>("work");

describe("many processes", () => {
  it("with 50 handlers in all run each of 10,000 jobs once, without an error [#88 #167 #168]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 10_000 }, () => ({})),
      { queue },
    );
    const processes = Array.from({ length: 5 }, (_, n) =>
      start({ url, queue, worker: { name: `host-${n}`, concurrency: 10, handleSignals: true } }),
    );
    await Promise.all(made.map((job) => test.mill.result(job)));
    processes.forEach((process) => process.kill("SIGTERM"));
    await Promise.all(processes.map((process) => process.exit));
    const ran = processes.flatMap((process) => process.ids("start"));
    expect([ran.length, new Set(ran).size]).toEqual([10_000, 10_000]);
    expect(
      processes.flatMap((process) => [
        ...process.of("error"),
        ...process.of("refused"),
        ...process.of("lost"),
        ...process.errors,
      ]),
    ).toEqual([]);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("of equal speed get about equal shares of equal jobs [#169]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const processes = [1, 2].map(() => start({ url, queue, worker: { concurrency: 5 } }));
    await Promise.all(processes.map((process) => process.hasSaid("ready")));
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 1000 }, () => ({ sleepMs: 15 })),
      { queue },
    );
    await Promise.all(made.map((job) => test.mill.result(job)));
    const shares = processes.map((process) => process.ids("start").length / 1000);
    for (const share of shares) {
      expect(share).toBeGreaterThan(0.35);
      expect(share).toBeLessThan(0.65);
    }
  });
});
