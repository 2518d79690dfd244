import type { Engine } from "../db/engine.js";
import type { DecisionNote, ProcessRecord, WorkerTarget } from "../db/types.js";
import { type TxOptions, callOf, noteOf } from "./call.js";

/**
 * Running workers of all processes: `mill.workers`. They obey with their next heartbeat, which the call asks for at
 * once. It is for a process (its id), for all workers of a name, also those that start later, or for a name in one
 * process.
 *
 * @example
 * ```ts
 * for (const { id, host, state, workers } of await mill.workers.list()) console.log(host, id, state, workers);
 * await mill.workers.pause({ worker: "mailer" }, { by: "ann", because: "the provider is down" });
 * await mill.workers.resume({ worker: "mailer" });
 * ```
 */
export class Workers {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /**
   * Processes that run workers, idle ones too, with what they were ordered to do. Those not seen for a day are gone.
   */
  async list(options: TxOptions = {}): Promise<ProcessRecord[]> {
    return this.engine.server.processes(callOf(options));
  }

  /**
   * Let workers take no more jobs, in spite of what waits. They give back what they have not started; running handlers
   * go on. Upkeep and schedules do too. Asking twice changes who and why. Resolves with how many workers it is for.
   */
  async pause(target: WorkerTarget, options: TxOptions & DecisionNote = {}): Promise<number> {
    const call = callOf(options, ["by", "because"]);
    return this.engine.workerPause(target, noteOf(options), call);
  }

  /**
   * As `pause`, for workers that shall come to an end: they are `draining` until the last handler has ended, then
   * `drained`, and emit the event `drained`. They stay, until they are resumed or stopped.
   */
  async drain(target: WorkerTarget, options: TxOptions & DecisionNote = {}): Promise<number> {
    const call = callOf(options, ["by", "because"]);
    return this.engine.workerDrain(target, noteOf(options), call);
  }

  /** Let workers take jobs again. Asking twice is harmless. Resolves with how many workers do so because of it. */
  async resume(target: WorkerTarget, options: TxOptions = {}): Promise<number> {
    return this.engine.workerResume(target, callOf(options));
  }

  /**
   * How many handlers these workers may run at once, each of them; null gives back what their code says.
   *
   * ```ts
   * await mill.workers.concurrency({ worker: "resizer" }, 2, { by: "ann" });
   * ```
   */
  async concurrency(
    target: WorkerTarget,
    concurrency: number | null,
    options: TxOptions & DecisionNote = {},
  ): Promise<number> {
    const call = callOf(options, ["by", "because"]);
    return this.engine.workerConcurrency(target, concurrency, noteOf(options), call);
  }
}
