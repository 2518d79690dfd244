/** One who uses slots that others use too: the part of a worker that serves one cell. */
export interface Sharer {
  /** Jobs that wait here for a slot, and those that a claim on its way may bring. */
  readonly share: { readonly waiting: number; readonly reserved: number };
  /** When the first job that waits here was enqueued; Infinity when none waits. */
  readonly oldest: number;
  /** Its cell is known to have more. */
  readonly isHungry: boolean;
  /** Jobs of its cell up to this time were handed out. */
  readonly position: number;
  /** Since when a claim has been on its way; undefined when none is. */
  readonly claimingSince: number | undefined;
  readonly isIdle: boolean;
  /** It has, or runs, a job that must be alone. */
  readonly hasSuspect: boolean;
  readonly runsSuspect: boolean;
  startWaiting(): void;
  /** Something changed that its fetcher may want to act on. */
  changed(): void;
}

/** What a claim that takes longer than this has asked for is no longer kept free: its cell may be away. */
const patienceMs = 250;

/**
 * The slots of a worker. With one cell nobody else uses them, and this is three numbers. With several, each part may
 * use all that the others leave, and the cell whose jobs have waited for longest is asked first, however much waits in
 * the others.
 */
export class Slots {
  busy = 0;
  readonly #calls = new Map<string, { calls: number }>();
  readonly #sharers = new Set<Sharer>();
  #others: readonly Sharer[] = [];

  constructor(
    /** How many handlers may run at once; may be changed at any time. */
    public concurrency: number,
  ) {}

  /** How many calls of a type run, in all parts. */
  callsOf(type: string): { calls: number } {
    const known = this.#calls.get(type) ?? { calls: 0 };
    this.#calls.set(type, known);
    return known;
  }

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
    this.#others = this.#sharers.size > 1 ? [...this.#sharers] : [];
  }

  leave(sharer: Sharer): void {
    this.#sharers.delete(sharer);
    this.#others = this.#sharers.size > 1 ? [...this.#sharers] : [];
    for (const other of this.#sharers) {
      other.startWaiting();
      other.changed();
    }
  }

  get isShared(): boolean {
    return this.#others.length > 0;
  }

  /** What others have here, and will have soon. */
  heldByOthers(me: Sharer): number {
    let held = 0;
    for (const other of this.#others) {
      if (other === me) continue;
      held += other.share.waiting + (isLate(other) ? 0 : other.share.reserved);
    }
    return held;
  }

  /** Whether it is this part's turn to claim: no other one is known to have older jobs. */
  mayClaim(me: Sharer): boolean {
    for (const other of this.#others) {
      if (other === me) continue;
      if (other.hasSuspect || (other.isHungry && !isLate(other) && other.position < me.position)) return false;
    }
    return true;
  }

  /** Whether a job that must be alone runs in another part. */
  isClosedTo(me: Sharer): boolean {
    return this.#others.some((other) => other !== me && other.runsSuspect);
  }

  /** Nothing runs or waits in the other parts. */
  isLeftTo(me: Sharer): boolean {
    return this.#others.every((other) => other === me || other.isIdle);
  }

  /** Outcomes of this part are recorded, which a job that must be alone in another one may have waited for. */
  recorded(me: Sharer): void {
    for (const other of this.#others) if (other !== me && other.hasSuspect) other.startWaiting();
  }

  /** A slot is free: whoever has the oldest job goes first. */
  freed(): void {
    for (const one of this.#others.toSorted((a, b) => a.oldest - b.oldest)) {
      one.startWaiting();
      one.changed();
    }
  }
}

const isLate = ({ claimingSince }: Sharer): boolean =>
  claimingSince !== undefined && performance.now() - claimingSince > patienceMs;
