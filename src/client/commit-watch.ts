import type { Engine } from "../db/engine.js";
import type { JobId } from "../db/types.js";
import { given } from "../job/new-job.js";
import type { Told } from "./place.js";

/** Transactions are asked for again after a quarter of their age, within these: late by a quarter at most. */
const shortestMs = 5;
const longestMs = 1000;
/** Between two questions passes five times as long as an answer takes, up to this: a busy server is asked less. */
const answers = 5;
const sparedMs = 100;
/** After that the watch of the workers, which looks every second, is as good. */
const forgetMs = 60_000;
/** So many at once; of more the newest are found by the watch. */
const most = 1000;
/** How long closing waits for the last answer. */
const lastMs = 1000;

interface Open {
  /** By `near`. */
  readonly told: Map<string | undefined, { readonly queues: Set<string>; job: JobId | undefined }>;
  readonly since: number;
}

/**
 * Waits for the end of callers' transactions in which jobs were enqueued, or told something, and tells of it then: a
 * notification inside of them would make commits of the whole server wait for each other. One question for all that are
 * open, less and less often while they last, and none when there is none. Nothing depends on it.
 */
export class CommitWatch {
  readonly #open = new Map<string, Open>();
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #askAt = Infinity;
  #spareMs = 0;
  #isClosed = false;

  constructor(
    readonly engine: Pick<Engine, "transactionsEnded">,
    /** Whether a connection is free. We do not stand in line for one: the transaction itself may have it. */
    readonly hasRoom: () => boolean,
    readonly tell: (told: Told) => void,
  ) {}

  /** A transaction of this number, which has not ended, has done something that is to be told. */
  add(xid: string, told: Told): void {
    const known = this.#open.get(xid);
    if (known) return add(known, told);
    if (this.#isClosed || this.#open.size >= most) return;
    const open = { told: new Map(), since: performance.now() };
    add(open, told);
    this.#open.set(xid, open);
    this.#askAfter(shortestMs);
  }

  /** The youngest says when: the others are asked for along with it, which costs next to nothing. */
  #askAfter(ms: number): void {
    if (this.#asking) return; // it goes on by itself
    const at = performance.now() + Math.max(ms, this.#spareMs);
    if (at >= this.#askAt) return;
    this.#askAt = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), at - performance.now());
    this.#timer.unref();
  }

  #ask(): void {
    this.#askAt = Infinity;
    const now = performance.now();
    for (const [xid, { since }] of this.#open) if (now - since > forgetMs) this.#open.delete(xid);
    if (this.#open.size === 0) return;
    if (!this.hasRoom()) return this.#askAfter(this.#nextMs());
    this.#asking = this.#askNow().finally(() => {
      this.#asking = undefined;
      if (this.#open.size > 0 && !this.#isClosed) this.#askAfter(this.#nextMs());
    });
  }

  #nextMs(): number {
    const youngest = Math.max(...[...this.#open.values()].map(({ since }) => since));
    return Math.min(longestMs, Math.max(shortestMs, (performance.now() - youngest) / 4));
  }

  async #askNow(): Promise<void> {
    const startedAt = performance.now();
    try {
      for (const { xid, isCommitted } of await this.engine.transactionsEnded([...this.#open.keys()])) {
        const { told } = this.#open.get(xid)!;
        this.#open.delete(xid);
        if (isCommitted)
          for (const [near, { queues, job }] of told) this.tell({ queues: [...queues], ...given({ near, job }) });
      }
    } catch {
      this.#open.clear(); // without an answer the workers find their jobs as if nobody had told them
    }
    this.#spareMs = Math.min(sparedMs, (performance.now() - startedAt) * answers);
  }

  /** Ask a last time, for those that have committed and nobody was told of. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#open.size === 0) return;
    const answered = (this.#asking ?? Promise.resolve()).then(() =>
      this.#open.size > 0 && this.hasRoom() ? this.#askNow() : undefined,
    );
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([answered, new Promise((resolve) => (timer = setTimeout(resolve, lastMs)))]);
    clearTimeout(timer);
  }
}

/** A transaction may tell very much, of which little has to be known: some queues, and that there was more. */
function add({ told }: Open, { queues, near, job }: Told): void {
  const known = told.get(near) ?? { queues: new Set(), job };
  told.set(near, known);
  for (const queue of queues) known.queues.add(queue);
  known.job ??= job;
}
