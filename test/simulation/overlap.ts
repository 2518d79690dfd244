import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";
import type { JobId } from "../../src/db/types.js";
import type { Random } from "./random.js";

/** The queue of overlapping transactions, so that no backlog of others keeps claimers from passing them. */
export const overlapQueue = "overlap";

/** What the writers of overlapping transactions need to know of the simulation. */
export interface Surroundings {
  readonly engine: Engine;
  readonly random: Random;
  /** Run work in a transaction of its own; tells whether it committed in the end. */
  inTransaction(work: (tx: pg.PoolClient) => Promise<void>): Promise<boolean>;
  isDelivered(id: JobId): boolean;
  isOver(): boolean;
  /** The group that all jobs of one overlap belong to, if any. */
  group(): { readonly group?: string };
}

/**
 * How long to wait for claimers before going on without them: they may be killed, or hold the jobs in a claim nobody
 * heard of.
 */
const patienceMs = 1500;

/**
 * Two or three transactions that lie in each other: all write, stay open while a younger job is claimed past them, and
 * commit from the youngest to the oldest, each when the one before is half taken. So several late ones are half taken
 * at the same time, and claims reach from the end of one into the next.
 *
 * Nobody here waits for ever. The claimers that are waited for end with the first violation, so every wait ends with
 * the simulation; and none of these transactions claims, because one that holds a lane's lock would wait for claimers
 * that wait for it.
 */
export class OverlapWriter {
  /** How many transactions were half taken when an older one, passed by the head like itself, committed. */
  halfTaken = 0;

  constructor(readonly surroundings: Surroundings) {}

  async write(): Promise<void> {
    await this.#writeAround(this.surroundings.random.between(2, 3), this.surroundings.group());
  }

  /** One transaction, open around all younger ones; then wait until claimers are amid its jobs. */
  async #writeAround(depth: number, group: { readonly group?: string }): Promise<void> {
    if (depth === 0) return this.#passBy(group);
    let ids: JobId[] = [];
    const committed = await this.surroundings.inTransaction(async (tx) => {
      ids = await this.#enqueue(this.surroundings.random.between(4, 9), group, tx);
      await this.#writeAround(depth - 1, group);
    });
    if (!committed) return;
    await this.#until(() => this.#delivered(ids) > 0);
    const delivered = this.#delivered(ids);
    if (delivered > 0 && delivered < ids.length) this.halfTaken += 1;
  }

  /** The job that carries the head past all who are open. */
  async #passBy(group: { readonly group?: string }): Promise<void> {
    const ids = await this.#enqueue(1, group);
    await this.#until(() => this.#delivered(ids) > 0);
  }

  async #enqueue(jobs: number, group: { readonly group?: string }, tx?: pg.PoolClient): Promise<JobId[]> {
    const inputs = Array.from({ length: jobs }, (_, i) => i);
    const enqueued = await this.surroundings.engine.enqueueMany(
      "c",
      inputs,
      { queue: overlapQueue, maxAttempts: 1000, ...group },
      tx && { tx },
    );
    return enqueued.map(({ id }) => id);
  }

  #delivered(ids: readonly JobId[]): number {
    return ids.filter((id) => this.surroundings.isDelivered(id)).length;
  }

  async #until(condition: () => boolean): Promise<void> {
    const end = Date.now() + patienceMs;
    while (!condition() && Date.now() < end && !this.surroundings.isOver()) await sleep(2);
  }
}
