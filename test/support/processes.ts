import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { it as anyIt } from "vitest";
import type { MillraceOptions } from "../../src/client/millrace-options.js";
import type { WorkerOptions } from "../../src/worker/worker-options.js";
import { until } from "./wait.js";

export interface ProcessOptions {
  readonly url: string;
  readonly queue: string;
  readonly worker?: WorkerOptions;
  readonly mill?: Omit<MillraceOptions, "connection">;
  /** Throw this outside of any handler, once the worker runs. */
  readonly stray?: "rejection" | "exception";
}

/** What the process said; see worker-process.mjs. */
interface Said {
  readonly event: "ready" | "start" | "end" | "signal" | "lost" | "refused" | "error" | "stopped";
  readonly id?: string;
  readonly attempt?: number;
  readonly reason?: string;
  readonly message?: string;
}

/** A worker in a process of its own. */
export class WorkerProcess {
  readonly said: Said[] = [];
  readonly errors: string[] = [];
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  readonly #process: ChildProcess;

  constructor(options: ProcessOptions) {
    const script = new URL("worker-process.mjs", import.meta.url).pathname;
    this.#process = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ["ignore", "pipe", "pipe"] });
    createInterface({ input: this.#process.stdout! }).on("line", (line) => this.said.push(JSON.parse(line) as Said));
    createInterface({ input: this.#process.stderr! }).on("line", (line) => this.errors.push(line));
    // "close" comes after everything it said was read
    this.exit = once(this.#process, "close").then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as string | null,
    }));
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** What it said of one kind. */
  of(event: Said["event"]): Said[] {
    return this.said.filter((said) => said.event === event);
  }

  ids(event: Said["event"]): string[] {
    return this.of(event).map((said) => said.id!);
  }

  async hasSaid(event: Said["event"]): Promise<void> {
    await until(`a process says "${event}"`, () => this.of(event).length > 0);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }
}

/**
 * Tests that may run beside each other, since most of their time is spent waiting for leases to end. What they started
 * is killed when they end.
 */
export const it = anyIt.extend<{ readonly start: (options: ProcessOptions) => WorkerProcess }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of fixtures from the pattern
  start: async ({}, use) => {
    const started: WorkerProcess[] = [];
    await use((options) => {
      const process = new WorkerProcess(options);
      started.push(process);
      return process;
    });
    for (const process of started) process.kill("SIGKILL");
    await Promise.all(started.map((process) => process.exit));
  },
});
