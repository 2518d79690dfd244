import type { HistoryPoint } from "../../db/types.js";

/** One point of a queue's history. Rates are per second; null when nothing is known. */
export interface Point {
  /** Milliseconds. */
  readonly at: number;
  /** Ready and blocked together: all that waited and was due. */
  readonly waiting: number | null;
  /** Not stored, like the next three. */
  readonly ready: number | null;
  /** Behind a pause, an open breaker, or a queue that is waited for. */
  readonly blocked: number | null;
  /** Not due yet; suspended ones are counted apart. */
  readonly delayed: number | null;
  readonly suspended: number | null;
  readonly running: number | null;
  readonly oldestReadySeconds: number | null;
  readonly in: number | null;
  readonly out: number | null;
  readonly failed: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  /** How long attempts took; only of what is stored. */
  readonly runP50?: number | null;
  readonly runP95?: number | null;
  /** Failures by kind; only of what is stored. */
  readonly kinds?: Readonly<Record<string, number>> | null;
}

/** The newest points, so many at most, no two of them in the same step. */
class Ring {
  readonly #points: Point[] = [];

  constructor(
    readonly stepMs: number,
    readonly most: number,
  ) {}

  add(point: Point): void {
    const last = this.#points.at(-1);
    if (last && Math.floor(last.at / this.stepMs) >= Math.floor(point.at / this.stepMs)) return;
    this.#points.push(point);
    if (this.#points.length > this.most * 1.1) this.#points.splice(0, this.#points.length - this.most);
  }

  since(at: number): Point[] {
    const first = at - (at % this.stepMs);
    return this.#points.filter((point) => point.at >= first).slice(-this.most);
  }

  get isEmptySince(): number {
    return this.#points.at(-1)?.at ?? 0;
  }
}

const stepMs = 1000;
const maxPoints = 600;
/** So many queues have a history of their own; beyond that only all together. */
const maxQueues = 500;

/**
 * What was sampled, by queue: every second for ten minutes. `""` is all queues together. What is older is in the
 * database (`engine.historyGet`).
 */
export class History {
  readonly #queues = new Map<string, Ring>();

  add(queue: string, point: Point): void {
    let ring = this.#queues.get(queue);
    if (!ring) {
      if (this.#queues.size >= maxQueues) return;
      this.#queues.set(queue, (ring = new Ring(stepMs, maxPoints)));
    }
    ring.add(point);
  }

  /** Forget queues that were not seen for ten minutes. */
  forget(now: number): void {
    for (const [queue, ring] of this.#queues)
      if (now - ring.isEmptySince > stepMs * maxPoints) this.#queues.delete(queue);
  }

  /** The points of the last so many seconds. */
  of(queue: string, seconds: number, now: number): readonly Point[] {
    return this.#queues.get(queue)?.since(now - seconds * 1000) ?? [];
  }
}

/** How far back it goes, in seconds. */
export const liveSeconds = (stepMs * maxPoints) / 1000;

/** A minute or an hour of the stored history, as a point of a chart. */
export function pointOf(stored: HistoryPoint): Point {
  const perSecond = (n: number): number => Math.round((n / stored.stepSeconds) * 1000) / 1000;
  return {
    at: stored.at.getTime(),
    waiting: stored.waiting,
    ready: null,
    blocked: null,
    delayed: null,
    suspended: null,
    running: stored.running,
    oldestReadySeconds: stored.oldestReadySeconds,
    in: perSecond(stored.enqueued),
    out: perSecond(stored.finished),
    failed: perSecond(stored.failed),
    p50: stored.waitP50Seconds,
    p95: stored.waitP95Seconds,
    runP50: stored.runP50Seconds,
    runP95: stored.runP95Seconds,
    kinds: stored.kinds,
  };
}
