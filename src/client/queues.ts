import { setTimeout as sleep } from "node:timers/promises";
import { checkKeys } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import type {
  BreakerRecord,
  DecisionNote,
  Depth,
  GroupDepth,
  GroupOptions,
  PauseRecord,
  QueueEvent,
  QueuePart,
  QueueRecord,
  Reason,
  StageRecord,
} from "../db/types.js";
import { type TxOptions, callOf } from "./call.js";
import { type Duration, timerMs } from "../job/duration.js";
import { type QueueOptions, toEngineDefaults } from "../job/queue-options.js";

/** Options of `mill.queues.events`. */
export interface EventsOptions {
  /** A cursor of `engine.queueEvents`. Default from now on. */
  readonly since?: string;
  readonly signal?: AbortSignal;
  /** How often to look. Default 1 s. */
  readonly pollInterval?: Duration;
}

/** Queues as a whole. */
export class Queues {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /**
   * Create a queue, or change its options.
   *
   * ```ts
   * await mill.queues.put("mail", { maxRunning: 50, lease: "1m", breaker: { failures: 5, pause: "30s" } });
   * ```
   */
  async put(name: string, queueOptions: QueueOptions = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.queuePut(name, toEngineDefaults(queueOptions, "queue"), callOf(options));
  }

  /** All queues with their state and counts. */
  async list(options: TxOptions = {}): Promise<QueueRecord[]> {
    return this.engine.queues(callOf(options));
  }

  /**
   * Hand out no more jobs of a queue, or only of a type or a group of it, in any process, until that is resumed.
   * Running ones go on.
   *
   * ```ts
   * await mill.queues.pause("mail", { group: "acme", because: "they asked for it", by: "ann" });
   * await mill.queues.resume("mail", { group: "acme" });
   * ```
   */
  async pause(
    name: string,
    why: QueuePart & { readonly by?: string; readonly because?: string } = {},
    options: TxOptions = {},
  ): Promise<void> {
    return this.engine.queuePause(name, why, callOf(options));
  }

  /** Hand out jobs of a paused queue, or of the part of it that was paused, again. */
  async resume(name: string, part: QueuePart & DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    return this.engine.queueResume(name, part, callOf(options));
  }

  /**
   * Take no more jobs into a queue: `enqueue` throws QueueClosedError. When its last job has ended the queue is
   * finished, and queues that wait for it go on.
   *
   * ```ts
   * await mill.queues.close("import-7", { by: "ann", because: "all files are in" });
   * ```
   */
  async close(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    return this.engine.queueClose(name, note, callOf(options));
  }

  /** Take jobs into a closed queue again, as long as it has not finished. */
  async open(name: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<void> {
    return this.engine.queueOpen(name, note, callOf(options));
  }

  /**
   * What happens to queues from now on, or since a cursor of `engine.queueEvents`: paused, resumed, closed, finished
   * and more, in any process. Ends with the signal.
   *
   * ```ts
   * for await (const { queue, event, because } of mill.queues.events()) console.log(`${queue}: ${event} ${because ?? ""}`);
   * ```
   */
  async *events(options: EventsOptions = {}): AsyncGenerator<QueueEvent, void, undefined> {
    checkKeys(options, new Set(["since", "signal", "pollInterval"]));
    const pauseMs = timerMs(options.pollInterval ?? "1s", "pollInterval");
    let cursor = options.since ?? (await this.engine.queueEvents()).cursor;
    while (!options.signal?.aborted) {
      const next = await this.engine.queueEvents(cursor);
      cursor = next.cursor;
      yield* next.events;
      await sleep(pauseMs, undefined, options.signal ? { signal: options.signal } : {}).catch(() => {});
    }
  }

  /** The stages that hold jobs. */
  async stages(options: TxOptions = {}): Promise<StageRecord[]> {
    return this.engine.stages(callOf(options));
  }

  /**
   * Let the jobs go that were enqueued with this `stage`. Returns how many; those enqueued later wait for the next
   * release.
   *
   * ```ts
   * await mill.enqueue(sendInvoice, { id: 7 }, { stage: "approval" });
   * await mill.queues.stageRelease("default", "approval", { by: "ann" });
   * ```
   */
  async stageRelease(name: string, stage: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<number> {
    const jobs = await this.engine.stageRelease(name, stage, note, callOf(options));
    if (jobs > 0 && !options.tx) await this.engine.queueNotify([name]);
    return jobs;
  }

  /** Cancel the jobs that were enqueued with this `stage` and have not been released. Returns how many. */
  async stageCancel(name: string, stage: string, note: DecisionNote = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.stageCancel(name, stage, note, callOf(options));
  }

  /** What is paused, by whom and why: whole queues, and types and groups of them. */
  async pauses(options: TxOptions = {}): Promise<PauseRecord[]> {
    return this.engine.pauses(callOf(options));
  }

  /** Circuit breakers (the option `breaker` of a queue or a type) that have counted something, or hold a type back. */
  async breakers(options: TxOptions = {}): Promise<BreakerRecord[]> {
    return this.engine.breakers(callOf(options));
  }

  /**
   * Close circuit breakers by hand and forget what they have counted: all, or those of a queue, a type, or both.
   * Returns how many.
   *
   * ```ts
   * await mill.queues.breakerReset({ queue: "mail", type: "send-mail" });
   * ```
   */
  async breakerReset(
    which: { readonly queue?: string; readonly type?: string } = {},
    options: TxOptions = {},
  ): Promise<number> {
    return this.engine.breakerReset(which, callOf(options));
  }

  /**
   * Set how a group is treated: a weight of 3 gives it three jobs for every one of a group with weight 1, while both
   * have work.
   *
   * ```ts
   * await mill.queues.groupPut("mail", "acme", { weight: 3 });
   * ```
   */
  async groupPut(name: string, group: string, how: GroupOptions, options: TxOptions = {}): Promise<void> {
    await this.engine.groupPut(name, group, how, callOf(options));
  }

  /**
   * Drop all waiting jobs, whatever their number, at the same cost. Returns how many. With `tx`, a queue with very many
   * types is refused: it is purged in several transactions.
   */
  async purge(name: string, options: TxOptions = {}): Promise<number> {
    return this.engine.queuePurge(name, callOf(options));
  }

  /**
   * Drop the waiting jobs, or only those of a type or a group, that were enqueued before a time. The cost does not
   * depend on how many are ready. They are cancelled at once. Returns how many have left the depth already; beyond
   * 100,000, and those of groups, do as they are passed over.
   *
   * ```ts
   * await mill.queues.shed("mail", new Date(Date.now() - 3_600_000));
   * ```
   */
  async shed(name: string, before: Date, part: QueuePart = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.queueShed(name, before, part, callOf(options));
  }

  /**
   * Set what waits aside: jobs that come from now on go first, the others are handed out when there are no such jobs,
   * oldest first. The cost does not depend on how much it is. Returns how many jobs now wait set aside. Not for queues
   * whose jobs have groups.
   *
   * ```ts
   * await mill.queues.setAside("mail", { type: "newsletter" });
   * ```
   */
  async setAside(name: string, part: Pick<QueuePart, "type"> = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.queueSetAside(name, part, callOf(options));
  }

  /** Move waiting dead letters back to where they came from, or to `target`. Returns how many. */
  async redrive(
    name: string,
    how: { readonly target?: string; readonly limit?: number } = {},
    options: TxOptions = {},
  ): Promise<number> {
    return this.engine.queueRedrive(name, how, callOf(options));
  }

  /**
   * Why jobs of a queue wait, or of a type or a group of it, and how many for each reason.
   *
   * ```ts
   * for (const reason of await mill.queues.why("mail")) console.log(reason.jobs, whyText(reason));
   * ```
   */
  async why(name = "default", part: QueuePart = {}, options: TxOptions = {}): Promise<Reason[]> {
    return this.engine.queueWhy(name, part, callOf(options));
  }

  /** How much waits and runs, at constant cost. */
  async depth(name = "default", options: TxOptions = {}): Promise<Depth> {
    return this.engine.queueDepth(name, callOf(options));
  }

  /**
   * How much waits, is delayed and runs for each group, the one with the most waiting first. Exact up to 10,000 jobs
   * that wait, an estimate beyond that; the cost depends neither on the backlog nor on the number of groups.
   */
  async groups(name = "default", limit = 100, options: TxOptions = {}): Promise<GroupDepth[]> {
    return this.engine.queueGroups(name, limit, callOf(options));
  }
}
