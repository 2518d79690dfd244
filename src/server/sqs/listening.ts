import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Log } from "../log.js";

const answerMs = 10_000;
/** A connection that only listens would never learn that it hears nothing any more: it is asked for a sign of life. */
const silenceMs = 10_000;

/**
 * Hears, on one connection of its own, which queues have something new, from whatever process. What it misses is found
 * by looking.
 */
export class Listening {
  #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly options: {
      readonly connection: pg.ClientConfig;
      readonly schema: string;
      readonly log: Log;
      /** Called with the name of a queue, and without one when something may have been missed. */
      readonly onWake: (queue?: string) => void;
    },
  ) {}

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const client = new pg.Client({
        ...this.options.connection,
        application_name: "millrace sqs",
        connectionTimeoutMillis: answerMs,
        query_timeout: answerMs,
      });
      const lost = new AbortController();
      client.on("error", () => lost.abort());
      client.on("end", () => lost.abort());
      client.on("notification", ({ payload }) => this.options.onWake(payload));
      try {
        await client.connect();
        await client.query(`listen ${client.escapeIdentifier(`millrace:${this.options.schema}`)}`);
        failures = 0;
        this.options.onWake();
        const over = AbortSignal.any([signal, lost.signal]);
        while (!over.aborted) {
          await sleep(silenceMs, undefined, { signal: over }).catch(() => {});
          if (!over.aborted) await client.query("select");
        }
      } catch (error) {
        if (failures === 0)
          this.options.log("warn", "does not hear of new messages; they are looked for once a second", {
            error: String(error),
          });
      }
      client.end().catch(() => {});
      await sleep(Math.min(5000, 100 * 2 ** failures), undefined, { signal }).catch(() => {});
    }
  }
}
