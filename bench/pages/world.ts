import type { Millrace } from "../../src/client/with-workers.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { payloads } from "../engine/measure.js";

/** Names in the world that routes are asked for. */
export interface World {
  readonly jobs: number;
  /** One that waits in a group, one that failed, one that is blocked. */
  readonly waiting: string;
  readonly failed: string;
  readonly blocked: string;
}

const groups = 200;
const inputs = payloads(1000);

/**
 * Eight queues as they look at three in the morning. Of 1,000,000 jobs: 400,000 that succeeded, half of them with a
 * result; 40,000 that failed with forty kinds of errors, 20,000 that expired, 20,000 that were cancelled; 60,000 that
 * are delayed and 20,000 that wait for another attempt; 440,000 that wait, most of them in 200 groups, some behind a
 * paused queue, a paused type, a paused group, an open breaker and a limit; and 500 that run.
 */
export async function makeWorld({ engine }: Millrace, jobs: number, say: (text: string) => void): Promise<World> {
  const part = (share: number): number => Math.max(1, Math.round((jobs * share) / 1_000_000));
  for (const name of ["mail", "resize", "billing", "import", "export", "hooks", "search", "sync"])
    await engine.queuePut(name, name === "search" ? { maxRunning: 50 } : {});
  await engine.typePut("charge", { breaker: { failures: 5, pauseSeconds: 3600 } });

  say("what is blocked, and lies below all that came later");
  await engine.queuePause("hooks", { by: "ann", because: "their server is down" });
  await engine.queuePause("mail", { type: "newsletter", by: "bob", because: "a wrong text" });
  await filled(part(40_000), (n) => engine.enqueueMany("newsletter", inputs.slice(0, n), { queue: "mail" }));
  let blocked = "";
  await filled(part(20_000), async (n) => {
    const [first] = await engine.enqueueMany("call-hook", inputs.slice(0, n), { queue: "hooks" });
    blocked = first!.id;
  });

  say("what has ended");
  await filled(part(200_000), (n) => engine.enqueueMany("send-mail", inputs.slice(0, n), { queue: "mail" }));
  await worked("mail", (held) => engine.completeMany(held[0]!.token, idsOf(held)));
  await filled(part(200_000), (n) => engine.enqueueMany("resize-image", inputs.slice(0, n), { queue: "resize" }));
  await worked("resize", (held) =>
    engine.completeMany(
      held[0]!.token,
      idsOf(held),
      held.map(() => ({ ok: true })),
    ),
  );
  await filled(part(40_000), (n) =>
    engine.enqueueMany("import-file", inputs.slice(0, n), { queue: "import", tenant: "acme" }),
  );
  let kind = 0;
  let failed = "";
  await worked("import", async (held) => {
    failed = held[0]!.id;
    for (let at = 0; at < held.length; at += 100)
      await engine.settle([
        {
          token: held[0]!.token,
          outcome: "failed",
          jobs: idsOf(held.slice(at, at + 100)),
          error: { name: "ImportError", code: `E${(kind += 1) % 40}`, message: `file of kind ${kind % 40} is broken` },
        },
      ]);
  });
  await filled(part(20_000), (n) =>
    engine.enqueueMany("call-hook", inputs.slice(0, n), { queue: "hooks", ttlSeconds: 0.05 }),
  );
  await filled(part(20_000), (n) =>
    engine.enqueueMany("old-report", inputs.slice(0, n), { queue: "export", tenant: "gone" }),
  );
  await engine.cancelWhere({ tenant: "gone" });

  say("what comes back");
  await filled(part(20_000), (n) =>
    engine.enqueueMany("sync-user", inputs.slice(0, n), { queue: "sync", maxAttempts: 5 }),
  );
  await worked("sync", async (held) => {
    await engine.settle([
      {
        token: held[0]!.token,
        outcome: "retryLater",
        jobs: idsOf(held),
        error: { message: "not reached" },
        delaySeconds: 36_000,
      },
    ]);
  });
  await filled(part(60_000), (n) =>
    engine.enqueueMany("remind", inputs.slice(0, n), { queue: "sync", runAt: new Date(Date.now() + 36_000_000) }),
  );

  say("what waits");
  let nth = 0;
  let waiting = "";
  for (const [queue, type, share, many] of [
    ["resize", "resize-image", 200_000, 1000],
    ["export", "make-report", 60_000, 100],
    ["search", "index-page", 40_000, 100],
    ["mail", "send-mail", 20_000, 100],
  ] as const)
    await filled(
      part(share),
      async (n) => {
        const group = `tenant-${(nth += 1) % groups}`;
        const [first] = await engine.enqueueMany(type, inputs.slice(0, n), { queue, group, tenant: group });
        waiting = first!.id;
      },
      many,
    );
  await filled(part(20_000), (n) =>
    engine.enqueueEach(
      inputs.slice(0, n).map((input, i) => ({ type: "sync-user", input, queue: "sync", group: `tenant-${i % 97}` })),
    ),
  );
  await filled(part(40_000), (n) => engine.enqueueMany("charge", inputs.slice(0, n), { queue: "billing" }));
  say("what holds it back");
  const broken = await engine.claim({ queues: ["billing"], limit: 20, worker: "host-9:1" });
  await engine.settle([
    { token: broken[0]!.token, outcome: "failed", jobs: idsOf(broken), error: { message: "503 of the bank" } },
  ]);
  for (const [queue, worker] of [
    ["search", "host-1:1"],
    ["resize", "host-1:2"],
    ["export", "host-2:1"],
    ["mail", "host-2:2"],
  ] as const)
    await engine.claim({ queues: [queue], limit: 150, worker, leaseSeconds: 36_000 });
  await engine.queuePause("resize", { group: "tenant-7", by: "ann", because: "too much of it" });
  for (let i = 0; i < 100; i += 1)
    await engine.schedules.put(`schedule-${i}`, {
      rule: { cron: `${i % 60} 3 * * *`, timezone: "UTC" },
      job: { type: "nightly", queue: "export" },
    });
  await engine.flowEnqueue([
    { type: "begin", options: { queue: "sync" } },
    ...Array.from({ length: 200 }, () => ({ type: "part", options: { queue: "sync" }, after: [0] })),
  ]);
  for (let round = 0; round < 30; round += 1) await engine.maintain();
  return { jobs, waiting, failed, blocked };

  async function filled(count: number, some: (n: number) => Promise<unknown>, many = 1000): Promise<void> {
    for (let done = 0; done < count; done += many) await some(Math.min(many, count - done));
  }

  /** All that is ready in a queue is claimed, and told of. */
  async function worked(queue: string, done: (held: readonly ClaimedJob[]) => Promise<unknown>): Promise<void> {
    for (;;) {
      const held = await engine.claim({ queues: [queue], limit: 1000, worker: "host-1:1", leaseSeconds: 600 });
      if (held.length === 0) return;
      for (const token of new Set(held.map((job) => job.token))) await done(held.filter((job) => job.token === token));
    }
  }
}

const idsOf = (jobs: readonly ClaimedJob[]): string[] => jobs.map(({ id }) => id);
