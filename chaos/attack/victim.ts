import { setTimeout as sleep } from "node:timers/promises";
import { Engine } from "millrace";
import pg from "pg";

const queue = "victim";
const jobsPerRound = 5;
/** Longer than any clock is moved: what ends leases on purpose must not end these. */
const leaseSeconds = 1e9;
/** So long may a round take before somebody has stopped it. */
const patienceMs = 30_000;

/** What became of the victim's jobs. */
export interface Watched {
  readonly jobs: number;
  readonly seconds: number;
  readonly longestMs: number;
}

/**
 * A queue beside the attack whose jobs must all go through, each once, with its own input and result. It goes on from
 * `start` to `stop`; what goes wrong is kept, and thrown by `check`.
 */
export class Victim {
  readonly #pool: pg.Pool;
  readonly #engine: Engine;
  #jobs = 0;
  #longestMs = 0;
  #since = 0;
  #fault: unknown;
  #isStopping = false;
  #running: Promise<void> | undefined;

  constructor(url: string) {
    this.#pool = new pg.Pool({ connectionString: url, max: 2 });
    this.#pool.on("error", () => {});
    this.#engine = new Engine({ pool: this.#pool });
  }

  async start(): Promise<void> {
    await this.#engine.queuePut(queue);
    this.#since = performance.now();
    this.#running = this.#run();
  }

  /** Throw what went wrong, if something did. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** What it has done since the last look. */
  look(): Watched {
    this.check();
    const now = performance.now();
    const watched = { jobs: this.#jobs, seconds: (now - this.#since) / 1000, longestMs: this.#longestMs };
    [this.#jobs, this.#longestMs, this.#since] = [0, 0, now];
    return watched;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    await this.#pool.end();
  }

  async #run(): Promise<void> {
    try {
      for (let n = 0; !this.#isStopping; n += 1) {
        const startedAt = performance.now();
        await this.#round(n);
        const tookMs = performance.now() - startedAt;
        this.#longestMs = Math.max(this.#longestMs, tookMs);
        if (tookMs > patienceMs) throw new Error(`a round of the victim took ${Math.round(tookMs)} ms`);
      }
    } catch (error) {
      this.#fault = error;
    }
  }

  async #round(n: number): Promise<void> {
    const inputs = Array.from({ length: jobsPerRound }, (_, i) => ({ n, i }));
    const stored = await this.#engine.enqueueMany("victim", inputs, { queue });
    const expected = new Map(stored.map(({ id }, i) => [id, inputs[i]!]));
    const open = new Set(expected.keys());
    for (const end = performance.now() + patienceMs; open.size > 0;) {
      const jobs = await this.#engine.claim({ queues: [queue], limit: jobsPerRound, leaseSeconds });
      for (const job of jobs) {
        if (!open.delete(job.id))
          throw new Error(`the victim was handed job ${job.id}, which is not its own, or was done before`);
        if (JSON.stringify(job.input) !== JSON.stringify(expected.get(job.id)) || job.attempt !== 1)
          throw new Error(
            `the victim's job ${job.id} came with the input ${JSON.stringify(job.input)} and attempt ${job.attempt}`,
          );
        await this.#engine.complete(job, { done: job.input });
      }
      if (jobs.length > 0) continue;
      if (performance.now() > end) throw new Error(`the victim's jobs ${[...open].join(", ")} were not handed out`);
      await sleep(5);
    }
    for (const [id, input] of expected) {
      const found = await this.#engine.get(id);
      if (
        found?.job.state !== "succeeded" ||
        found.job.attempts !== 1 ||
        JSON.stringify(found.job.result) !== JSON.stringify({ done: input })
      )
        throw new Error(`the victim's job ${id} ended as ${JSON.stringify(found?.job)}`);
    }
    this.#jobs += expected.size;
  }
}
