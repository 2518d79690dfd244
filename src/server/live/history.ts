/** One point of a queue's history. Rates are per second; null when nothing is known. */
export interface Point {
  /** Milliseconds. */
  readonly at: number;
  readonly ready: number;
  readonly delayed: number;
  /** Of the delayed ones. */
  readonly suspended: number;
  readonly running: number;
  readonly oldestReadySeconds: number | null;
  readonly in: number | null;
  readonly out: number | null;
  readonly failed: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
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

const fine = { stepMs: 1000, most: 600 };
const coarse = { stepMs: 60_000, most: 1440 };
/** So many queues have a history of their own; beyond that only all together. */
const mostQueues = 500;

/** What was sampled, by queue: every second for ten minutes, every minute for a day. `""` is all queues together. */
export class History {
  readonly #queues = new Map<string, { readonly fine: Ring; readonly coarse: Ring }>();

  add(queue: string, point: Point): void {
    let rings = this.#queues.get(queue);
    if (!rings) {
      if (this.#queues.size >= mostQueues) return;
      this.#queues.set(
        queue,
        (rings = { fine: new Ring(fine.stepMs, fine.most), coarse: new Ring(coarse.stepMs, coarse.most) }),
      );
    }
    rings.fine.add(point);
    rings.coarse.add(point);
  }

  /** Forget queues that were not seen for a day. */
  forget(now: number): void {
    for (const [queue, { coarse: ring }] of this.#queues)
      if (now - ring.isEmptySince > coarse.stepMs * coarse.most) this.#queues.delete(queue);
  }

  /** The points of the last so many seconds: in steps of a second up to ten minutes, else of a minute. */
  of(queue: string, seconds: number, now: number): { readonly step: number; readonly points: readonly Point[] } {
    const kind = seconds * 1000 <= fine.stepMs * fine.most ? "fine" : "coarse";
    return {
      step: kind === "fine" ? 1 : 60,
      points: this.#queues.get(queue)?.[kind].since(now - seconds * 1000) ?? [],
    };
  }
}
