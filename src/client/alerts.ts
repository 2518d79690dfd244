import { hostname } from "node:os";
import { narrowed } from "../cells/ask.js";
import { cellOf } from "../cells/handle.js";
import type { Engine } from "../db/engine.js";
import type {
  AlertEvent,
  AlertRecord,
  AlertRule,
  AlertRuleRecord,
  HookRecord,
  JobId,
  SilenceNote,
} from "../db/types.js";
import { defineJob } from "../job/define-job.js";
import { type Duration, durationSeconds } from "../job/duration.js";
import { PermanentError } from "../job/permanent-error.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { type TxOptions, callOf, noteOf } from "./call.js";
import { type WebHookOptions, WebHookRefusedError, checkAllowedHosts, sendWebHook } from "./web-hook.js";
import { checkKeys } from "../db/encode.js";

/** The queue that web hooks are sent from. */
const hookQueue = "millrace.alerts";
const hookJob = defineJob<{ readonly hook: string; readonly body: unknown }>("millrace.alert");

/** Who did it. */
interface ByOptions extends TxOptions {
  readonly by?: string;
}

/**
 * What somebody wants to be told of: `mill.alerts`. Rules are in the database, and whoever does the upkeep compares
 * them with what is.
 *
 * @example
 * ```ts
 * const { secret } = await mill.alerts.hookPut("ops", { url: "https://hooks.example.com/millrace" });
 * await mill.alerts.put("old-mail", { kind: "oldest", queue: "mail", seconds: 600, hooks: ["ops"] });
 * for (const { rule, subject, message } of await mill.alerts.list()) console.log(rule, subject, message, secret);
 * ```
 */
export class Alerts {
  readonly #makeWorker: (options: WorkerOptions) => Worker;

  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
    makeWorker: (options: WorkerOptions) => Worker,
  ) {
    this.#makeWorker = makeWorker;
  }

  /** Alerts that fire, or are about to. */
  async list(options: TxOptions = {}): Promise<AlertRecord[]> {
    return this.engine.alerts(callOf(options));
  }

  /** All rules. */
  async rules(options: TxOptions = {}): Promise<AlertRuleRecord[]> {
    return this.engine.alertRules(callOf(options));
  }

  /** What happened to alerts, rules and web hooks, newest first. */
  async events(options: TxOptions & { readonly before?: string; readonly limit?: number } = {}): Promise<AlertEvent[]> {
    const call = callOf(options, ["before", "limit"]);
    const { before, limit } = options;
    return this.engine.alertEvents(
      { ...(before === undefined ? {} : { before }), ...(limit === undefined ? {} : { limit }) },
      call,
    );
  }

  /** Make a rule, or change it: what is given is all of it. */
  async put(name: string, rule: AlertRule, options: ByOptions = {}): Promise<void> {
    await this.engine.alertPut(name, rule, options.by, callOf(options, ["by"]));
  }

  /** Forget a rule; what it has fired is resolved. */
  async remove(name: string, options: ByOptions = {}): Promise<void> {
    await this.engine.alertRemove(name, options.by, callOf(options, ["by"]));
  }

  /**
   * Send nothing for what a rule fires, or for one subject of it, for a time; 0 ends the silence. What still fires then
   * is sent, and so is the end of what was sent before.
   */
  async silence(name: string, last: Duration, options: TxOptions & SilenceNote = {}): Promise<void> {
    const call = callOf(options, ["by", "because", "subject"]);
    const { subject } = options;
    const note = { ...noteOf(options), ...(subject === undefined ? {} : { subject }) };
    await this.engine.alertSilence(name, last === 0 ? 0 : durationSeconds(last, "last"), note, call);
  }

  /** Where alerts are sent to. Neither secrets nor whole addresses are told. */
  async hooks(options: TxOptions = {}): Promise<HookRecord[]> {
    return this.engine.hooks(callOf(options));
  }

  /** Name an address that alerts may be sent to. Resolves with its secret when one was made: it is not told again. */
  async hookPut(
    name: string,
    hook: { readonly url: string; readonly secret?: string },
    options: ByOptions = {},
  ): Promise<{ readonly secret?: string }> {
    return this.engine.hookPut(name, hook, options.by, callOf(options, ["by"]));
  }

  /** Send nothing there any more. */
  async hookRemove(name: string, options: ByOptions = {}): Promise<void> {
    await this.engine.hookRemove(name, options.by, callOf(options, ["by"]));
  }

  /** Send something there now. Resolves with the job that does. */
  async hookTest(name: string, options: ByOptions = {}): Promise<JobId> {
    return this.engine.hookTest(name, options.by, callOf(options, ["by"]));
  }

  /**
   * A worker that sends web hooks, to be started and stopped as any other. `millrace serve` has one; where that does
   * not run, one of your processes may.
   */
  worker(options: WebHookOptions & { readonly name?: string } = {}): Worker {
    checkKeys(options, new Set(["allowedHosts", "name"]));
    checkAllowedHosts(options.allowedHosts);
    const worker = this.#makeWorker({
      queues: [hookQueue],
      concurrency: 4,
      prefetch: 0,
      name: options.name ?? `web hooks ${hostname()}:${process.pid}`,
      heartbeatThread: false,
      maintenance: false,
      schedules: false,
    });
    return worker.handle(hookJob, async (job, { signal }) => {
      // of the cell that the job is in, where there are several
      const hook = await narrowed(cellOf(job.id), () => this.engine.hookGet(job.input.hook));
      if (!hook) throw new PermanentError(`there is no web hook "${job.input.hook}" any more`);
      const body = JSON.stringify({ id: job.id, ...(job.input.body as object) });
      try {
        await sendWebHook({ ...hook, id: job.id, body }, options, signal);
      } catch (error) {
        throw error instanceof WebHookRefusedError ? new PermanentError(error.message) : error;
      }
    });
  }
}
