import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { JobOptions, WorkerOptions } from "millrace";

/** What a job makes its handler do. */
export interface JobInput {
  readonly sleepMs?: number;
  /** The event loop stands still for so long. */
  readonly blockMs?: number;
  /** The process is killed, as when it is out of memory; after its sleep. */
  readonly kill?: boolean;
  /** How likely it is that the handler fails, from 0 to 1. */
  readonly failOdds?: number;
}

/** What a run of steps does to its process: at one place of its handler, once. */
export interface RunInput {
  readonly place?: string;
  readonly how?: "kill" | "stop";
}

/** What a run waits for, one after another. */
export interface WaiterInput {
  /** How many signals. Default 0. */
  readonly signals?: number;
  readonly sleepMs?: number;
  /** Whether it has a child. Default false. */
  readonly calls?: boolean;
}

export interface WorkerArguments {
  readonly url: string;
  /** How to get to each cell; then `url` is not used. */
  readonly cells?: Readonly<Record<string, string>>;
  readonly options?: WorkerOptions;
  /** Connections of the worker's pool. Default 10. */
  readonly poolMax?: number;
  /** Where effects are written, when that is another way to the server. Default: as `url`. */
  readonly effectUrl?: string;
  /** The same for cells. Default: as `cells`. */
  readonly effectCells?: Readonly<Record<string, string>>;
  /** Whether statements are kept prepared. Default true. */
  readonly prepare?: boolean;
}

export interface ProducerArguments {
  readonly url: string;
  /** How to get to each cell; then `url` is not used. */
  readonly cells?: Readonly<Record<string, string>>;
  readonly jobs: number;
  readonly perSecond: number;
  readonly types: readonly string[];
  readonly input: JobInput | null;
  readonly options: JobOptions;
  /** Into how many groups the jobs fall, at random. Default none. */
  readonly groups?: number;
  /** How many fingerprints the jobs have, at random. Such jobs are enqueued one by one. Default none. */
  readonly fingerprints?: number;
  /** For how long at most a transaction stays open after it has enqueued. Default 0. */
  readonly lingerMs?: number;
  /** Whether statements are kept prepared. Default true. */
  readonly prepare?: boolean;
}

/** Environment and program of a child: another release, another clock. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** Command to run Node.js under, such as faketime. */
  readonly under?: readonly string[];
  /** Folder of the compiled suite to take the child from. Default: this one. */
  readonly folder?: string;
}

interface Said {
  readonly event: string;
  readonly ids?: readonly string[];
  readonly id?: string;
  readonly message?: string;
}

/** A child process that says one JSON object per line. */
export class Child {
  readonly said: Said[] = [];
  /** What it wrote to its standard error. */
  readonly complaints: string[] = [];
  readonly exit: Promise<void>;
  onSaid: (said: Said) => void = () => {};
  readonly #process: ChildProcess;

  constructor(
    script: "worker" | "durable-worker" | "producer",
    argument: object,
    { env, under = [], folder }: Surroundings = {},
  ) {
    const file =
      folder === undefined
        ? fileURLToPath(new URL(`child/${script}.js`, import.meta.url))
        : `${folder}/child/${script}.js`;
    const [program, ...rest] = [...under, process.execPath, file, JSON.stringify(argument)];
    this.#process = spawn(program, rest, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    createInterface({ input: this.#process.stdout! }).on("line", (line) => this.#hear(line));
    createInterface({ input: this.#process.stderr! }).on("line", (line) => this.complaints.push(line));
    this.exit = once(this.#process, "close").then(() => {});
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  of(event: string): Said[] {
    return this.said.filter((said) => said.event === event);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  #hear(line: string): void {
    const said = JSON.parse(line) as Said;
    this.said.push(said);
    this.onSaid(said);
  }
}
