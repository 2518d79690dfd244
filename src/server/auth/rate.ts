/** A token bucket per name, in memory. A name that has been quiet until its bucket is full again takes no memory. */
export class RateLimit {
  readonly #buckets = new Map<string, { level: number; at: number }>();

  constructor(
    readonly perSecond: number,
    readonly burst: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Take one: 0 when there was one, else the seconds until there is. */
  take(name: string): number {
    const at = this.now();
    const bucket = this.#buckets.get(name) ?? { level: this.burst, at };
    bucket.level = Math.min(this.burst, bucket.level + ((at - bucket.at) / 1000) * this.perSecond);
    bucket.at = at;
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > maxNames) this.#forget(at);
    if (bucket.level < 1) return (1 - bucket.level) / this.perSecond;
    bucket.level -= 1;
    return 0;
  }

  /** As `take`, and nothing is taken. */
  wait(name: string): number {
    const bucket = this.#buckets.get(name);
    if (!bucket) return 0;
    const level = bucket.level + ((this.now() - bucket.at) / 1000) * this.perSecond;
    return level < 1 ? (1 - level) / this.perSecond : 0;
  }

  /** Buckets that are full by now say nothing; when all are in use, the oldest go. */
  #forget(at: number): void {
    for (const [name, { level, at: since }] of this.#buckets) {
      if (level + ((at - since) / 1000) * this.perSecond >= this.burst || this.#buckets.size > maxNames * 2)
        this.#buckets.delete(name);
    }
  }
}

const maxNames = 10_000;
