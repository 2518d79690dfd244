import { setTimeout as sleep } from "node:timers/promises";
import type { Input, RunningWorker, System } from "../systems/system.ts";
import { timeClaims } from "./claim-times.ts";
import { now } from "./clock.ts";
import type { Commands } from "./commands.ts";

type Args<C extends keyof Commands> = Commands[C]["args"];
type Answer<C extends keyof Commands> = Promise<Commands[C]["answer"]>;

const rssEveryMs = 100;
const tellEveryMs = 10;

/**
 * The speed of a worker in full swing. Batches are handled in a moment and then nothing happens for a while, so the
 * clock is read where a batch begins; a rate from one such point to another neither gains nor loses a batch.
 */
class Pace {
  jobs = 0;
  #lastAt = 0;
  readonly #points: { readonly jobs: number; readonly at: number }[] = [];

  count(): void {
    const at = now();
    if (at - this.#lastAt > 1 || at - (this.#points.at(-1)?.at ?? 0) > 50) this.#points.push({ jobs: this.jobs, at });
    this.#lastAt = at;
    this.jobs += 1;
  }

  /** Between the first point after `warm` jobs and the last. */
  jobsPerSecond(warm: number): number {
    const from = this.#points.find((point) => point.jobs >= warm);
    const to = this.#points.at(-1);
    return from && to && to.at > from.at ? ((to.jobs - from.jobs) / (to.at - from.at)) * 1000 : NaN;
  }
}

/** The working side of a system. The handler does nothing but count. */
export class Working {
  readonly #system: System;
  readonly #url: string;
  readonly #tell: (handled: number) => void;
  #jobs = 0;
  #latenciesMs: number[] = [];
  #workers: RunningWorker[] = [];
  #telling: NodeJS.Timeout | undefined;

  constructor(system: System, url: string, tell: (handled: number) => void) {
    this.#system = system;
    this.#url = url;
    this.#tell = tell;
  }

  async drain({ jobs }: Args<"drain">): Answer<"drain"> {
    const rssMb: number[] = [];
    const sampling = setInterval(() => rssMb.push(process.memoryUsage.rss() / 1e6), rssEveryMs);
    const { promise: allHandled, resolve } = Promise.withResolvers<void>();
    let handled = 0;
    let startedAt = Infinity;
    const worker = await this.#system.work(this.#url, {
      live: false,
      onJob: () => {
        if (handled === 0) startedAt = Math.min(startedAt, now());
        handled += 1;
        if (handled === jobs) resolve();
      },
    });
    startedAt = Math.min(startedAt, now());
    await allHandled;
    while (!(await worker.isDrained())) await sleep(5);
    const seconds = (now() - startedAt) / 1000;
    clearInterval(sampling);
    await worker.stop();
    return { seconds, rssMb };
  }

  async drainSome({ jobs }: Args<"drainSome">): Answer<"drainSome"> {
    const claims = this.#system.claims && timeClaims(this.#system.claims);
    const { promise: allHandled, resolve } = Promise.withResolvers<void>();
    const pace = new Pace();
    const worker = await this.#system.work(this.#url, {
      live: false,
      onJob: () => {
        pace.count();
        if (pace.jobs === Math.floor(jobs / 5)) claims?.forget();
        if (pace.jobs === jobs) resolve();
      },
    });
    await allHandled;
    const claimMs = claims?.end() ?? [];
    await worker.stop();
    const jobsPerSecond = pace.jobsPerSecond(jobs / 5);
    if (Number.isNaN(jobsPerSecond)) throw new Error(`${jobs} jobs came in too few batches to tell a speed`);
    return { jobsPerSecond, claimMs };
  }

  async start({ count, ...options }: Args<"startWorkers">): Answer<"startWorkers"> {
    const onJob = ({ sentAt }: Input): void => {
      this.#jobs += 1;
      if (sentAt !== undefined) this.#latenciesMs.push(now() - Number(sentAt));
    };
    for (let i = 0; i < count; i += 1)
      this.#workers.push(await this.#system.work(this.#url, { live: true, onJob, ...options }));
    this.#telling = setInterval(() => this.#tell(this.#jobs), tellEveryMs);
  }

  async handled(): Answer<"handled"> {
    return { jobs: this.#jobs, atMs: now(), latenciesMs: this.#latenciesMs };
  }

  async stop(): Answer<"stopWorkers"> {
    clearInterval(this.#telling);
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }
}
