/** There is no room for what somebody wants: others, or they themselves, hold too much of it. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
  constructor(
    readonly who: string,
    readonly what: string,
  ) {
    super(`"${who}" has as much of the server's ${what} as there is for one just now`);
  }
}

/** Lets work begin when there is room for it. */
export type Line = <T>(work: () => Promise<T>) => Promise<T>;

/** How long somebody may wait, and how many of them. */
export interface LineOptions {
  /** Of each who waits. Default 2000. */
  readonly maxWaiting?: number;
  /** Default 30,000. */
  readonly waitMs?: number;
}

/**
 * So much of something, for all who ask: memory, connections, places.
 *
 * Nobody takes more than twice of what is left free then. One alone gets two thirds, two get two fifths each, three two
 * sevenths: there is always something left for whoever comes next, however many there are, and nothing has to be known
 * of them beforehand. Whoever holds nothing may have the last.
 *
 * Who waits does so in a line of their own, and of several lines the one whose owner holds least goes first.
 */
export class Shares {
  readonly #held = new Map<string, number>();
  readonly #lines = new Map<string, Set<() => void>>();
  readonly #maxWaiting: number;
  readonly #waitMs: number;
  #free: number;

  /** `what` there is, in words, and how much of it. */
  constructor(
    readonly what: string,
    readonly total: number,
    { maxWaiting = 2000, waitMs = 30_000 }: LineOptions = {},
  ) {
    this.#free = total;
    this.#maxWaiting = maxWaiting;
    this.#waitMs = waitMs;
  }

  /** How much somebody has. */
  heldBy(who: string): number {
    return this.#held.get(who) ?? 0;
  }

  /** Take so much at once, or nothing: false when there is no room. */
  take(who: string, amount = 1): boolean {
    if (!this.#fits(who, amount)) return false;
    this.#free -= amount;
    this.#held.set(who, this.heldBy(who) + amount);
    return true;
  }

  /** Give so much back. */
  give(who: string, amount = 1): void {
    const left = this.heldBy(who) - amount;
    if (left === 0) this.#held.delete(who);
    else this.#held.set(who, left);
    this.#free += amount;
    this.#letIn();
  }

  /** Take one as soon as there is one. Rejects with a NoRoomError when the line is full, or it takes too long. */
  async wait(who: string): Promise<void> {
    if (!this.#lines.has(who) && this.take(who)) return;
    const line = this.#lines.get(who) ?? new Set();
    if (line.size >= this.#maxWaiting) throw new NoRoomError(who, this.what);
    this.#lines.set(who, line);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(who, begin);
        reject(new NoRoomError(who, this.what));
      }, this.#waitMs);
      const begin = (): void => {
        clearTimeout(timer);
        this.#leave(who, begin);
        resolve();
      };
      line.add(begin);
    });
  }

  /** Do something with one of them. */
  async use<T>(who: string, work: () => Promise<T>): Promise<T> {
    await this.wait(who);
    try {
      return await work();
    } finally {
      this.give(who);
    }
  }

  /** The line of somebody. */
  lineOf(who: string): Line {
    return (work) => this.use(who, work);
  }

  /** What one request holds, bit by bit. */
  hold(who: string): Holding {
    return new Holding(this, who);
  }

  #fits(who: string, amount: number): boolean {
    const held = this.heldBy(who);
    const left = this.#free - amount;
    return left >= 0 && (held === 0 || held + amount <= 2 * left);
  }

  #leave(who: string, begin: () => void): void {
    const line = this.#lines.get(who);
    line?.delete(begin);
    if (line?.size === 0) this.#lines.delete(who);
  }

  #letIn(): void {
    while (this.#lines.size > 0) {
      const [next] = [...this.#lines.keys()]
        .filter((who) => this.#fits(who, 1))
        .toSorted((a, b) => this.heldBy(a) - this.heldBy(b));
      if (next === undefined) return;
      this.take(next);
      const [begin] = this.#lines.get(next)!;
      begin!();
    }
  }
}

/** What one request holds of something that is shared. */
export class Holding {
  #amount = 0;

  constructor(
    private readonly shares: Shares,
    private readonly who: string,
  ) {}

  /** Hold so much more. Throws a NoRoomError when there is no room. */
  grow(amount: number): void {
    if (!this.shares.take(this.who, amount)) throw new NoRoomError(this.who, this.shares.what);
    this.#amount += amount;
  }

  /** Give all of it back. */
  end(): void {
    if (this.#amount > 0) this.shares.give(this.who, this.#amount);
    this.#amount = 0;
  }
}
