import { setTimeout as sleep } from "node:timers/promises";

/** Asks one cell. */
export type Ask = (text: string, values: unknown[]) => Promise<readonly object[]>;

/** Fingerprints of live jobs of a queue, as the jobs themselves tell it. */
const aliveText = `
  select fingerprint as name, id::text as job from millrace.jobs
   where queue = $1 and fingerprint is not null and state in ('ready', 'delayed', 'running', 'blocked', 'suspended')`;

/** Looks, again and again, whether a fingerprint lives in two cells. */
export class FingerprintWatch {
  looks = 0;
  readonly twice = new Set<string>();
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(
    readonly a: Ask,
    readonly b: Ask,
    readonly queue: string,
  ) {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** A job that is alive in one cell before and after the look at the other was so all the while. */
  async #run(): Promise<void> {
    while (!this.#isOver) {
      const [before, there, after] = [await this.#alive(this.a), await this.#alive(this.b), await this.#alive(this.a)];
      for (const [name, job] of before) if (after.get(name) === job && there.has(name)) this.twice.add(name);
      this.looks += 1;
      await sleep(5);
    }
  }

  async #alive(ask: Ask): Promise<Map<string, string>> {
    const rows = (await ask(aliveText, [this.queue])) as { name: string; job: string }[];
    return new Map(rows.map(({ name, job }) => [name, job]));
  }
}
