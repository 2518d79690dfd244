import { setTimeout as sleep } from "node:timers/promises";
import type { Millrace } from "../client/millrace.js";
import { type WebHookOptions, checkAllowedHosts } from "../client/web-hook.js";
import { checkKeys } from "../db/encode.js";
import type { Log } from "./log.js";

/** How often to look whether there are web hooks, as long as there are none. */
const lookMs = 10_000;

/** Sends web hooks, once there are any: a worker on the queue that they are sent from. */
export class Hooks {
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #worker: ReturnType<Millrace["alerts"]["worker"]> | undefined;

  constructor(
    private readonly mill: Millrace,
    private readonly options: WebHookOptions,
    private readonly log: Log,
  ) {
    checkKeys(options, new Set(["allowedHosts"]));
    checkAllowedHosts(options.allowedHosts);
  }

  /** Start; a second call is harmless. It holds no process open while there is nothing to send. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** What is being sent is sent; nothing is after that. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#worker?.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if ((await this.mill.engine.hooks()).length > 0 && !signal.aborted) {
          this.#worker = this.mill.alerts.worker(this.options);
          this.#worker.on("error", (error) => this.log("warn", "web hooks", { error: String(error) }));
          await this.#worker.start();
          return;
        }
      } catch (error) {
        this.log("warn", "web hooks cannot be sent yet", { error: (error as Error).message });
      }
      await sleep(lookMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
