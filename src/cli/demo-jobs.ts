import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from "../job/define-job.js";
import type { Millrace } from "../client/millrace.js";
import type { Worker } from "../worker/worker.js";

// Names of their own, so that they never take the jobs of whoever tries out the first lines of the README beside them.
const resize = defineJob<{ key: string }>("demo-image");
const mail = defineJob<{ to: string }>("demo-mail", { retryDelay: ["1s", "3s", "10s"], maxAttempts: 4 });
const report = defineJob<{ month: string }>("demo-report", { priority: 8 });

const producerPauseMs = 400;
const people = ["ann", "bob", "cleo", "dan"];

/** Handlers for `millrace dev --demo`: fast ones, slow ones with progress, and some that fail now and then. */
export function registerDemo(worker: Worker): void {
  worker.handle(resize, async (job) => {
    await sleep(20 + Math.random() * 200);
    return { key: job.input.key, width: 640 };
  });
  worker.handle(mail, async () => {
    await sleep(50 + Math.random() * 300);
    if (Math.random() < 0.25) throw new Error("the mail server said: try again later");
  });
  worker.handle(report, async (_job, context) => {
    for (let page = 1; page <= 5; page += 1) {
      await sleep(400, undefined, { signal: context.signal });
      await context.progress({ page, of: 5 });
    }
    return { pages: 5 };
  });
}

/** Something to do, a few jobs a second, until the signal fires. Failures to enqueue are told and do not end it. */
export async function produceDemo(
  mill: Millrace,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  for (let n = 1; !signal.aborted; n += 1) {
    try {
      if (n % 20 === 0) await mill.enqueue(report, { month: "2026-11" });
      else if (n % 5 === 0)
        await mill.enqueue(mail, { to: people[n % people.length]! }, n % 10 === 0 ? { delay: "5s" } : {});
      else await mill.enqueue(resize, { key: `image-${n}.png` });
    } catch (error) {
      onError(error);
    }
    await sleep(producerPauseMs, undefined, { signal }).catch(() => {});
  }
}
