import { setTimeout as sleep } from "node:timers/promises";
import type { WebHookOptions } from "../client/web-hook.js";
import type { Millrace } from "../client/with-workers.js";
import type { Log } from "./log.js";

/** How often to look whether there are web hooks, as long as there are none. */
const lookMs = 10_000;

/** Sends web hooks, once there are any: a worker on the queue that they are sent from. */
export class Hooks {
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly mill: Millrace,
    private readonly options: WebHookOptions,
    private readonly log: Log,
  ) {}

  /** Start; a second call is harmless. */
  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running; // the worker itself is stopped with its client
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        if ((await this.mill.engine.hooks()).length > 0) {
          const worker = this.mill.alerts.worker(this.options);
          worker.on("error", (error) => this.log("warn", "web hooks", { error: String(error) }));
          await worker.start();
          return;
        }
      } catch (error) {
        this.log("warn", "web hooks cannot be sent yet", { error: (error as Error).message });
      }
      await sleep(lookMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
  }
}
