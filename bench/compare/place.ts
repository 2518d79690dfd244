import type { Command, Commands } from "./child/commands.ts";
import { SystemProcess } from "./process.ts";
import type { Postgres } from "./servers.ts";

export interface PlaceOptions {
  readonly system: string;
  readonly url: string;
  /** The server and the name of the database; none for Redis. */
  readonly postgres?: Postgres;
  readonly database?: string;
  readonly callSeconds: number;
}

/**
 * Where a system keeps its jobs: a fresh database of its own, or the emptied Redis. Closing it ends its processes and
 * drops it.
 */
export class Place implements AsyncDisposable {
  readonly #options: PlaceOptions;
  readonly #processes: SystemProcess[] = [];

  constructor(options: PlaceOptions) {
    this.#options = options;
  }

  /** Name of the database; empty for Redis. */
  get database(): string {
    return this.#options.database ?? "";
  }

  start(nodeOptions?: readonly string[]): SystemProcess {
    const { system, url, callSeconds } = this.#options;
    const started = new SystemProcess(system, url, callSeconds, nodeOptions);
    this.#processes.push(started);
    return started;
  }

  /** One call in a process of its own. */
  async call<C extends Command>(
    command: C,
    args: Commands[C]["args"],
    nodeOptions?: readonly string[],
  ): Promise<Commands[C]["answer"]> {
    const child = this.start(nodeOptions);
    const answer = await child.call(command, args);
    await child.end();
    return answer;
  }

  /** Fill it with jobs, and let the database settle. */
  async preload(jobs: number, groups?: number): Promise<void> {
    await this.call("addBulk", {
      jobs,
      batch: Math.min(jobs, 2000),
      inFlight: 2,
      ...(groups === undefined ? {} : { groups }),
    });
    await this.#options.postgres?.settle(this.database);
  }

  /** The same for very many jobs. */
  async preloadBacklog(jobs: number): Promise<void> {
    await this.call("addBacklog", { jobs });
    await this.#options.postgres?.settle(this.database);
  }

  async endProcesses(): Promise<void> {
    await Promise.all(this.#processes.map((child) => child.end()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endProcesses();
    await this.#options.postgres?.drop(this.database);
  }
}
