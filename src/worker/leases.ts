/**
 * Until when each token holds, as far as is known here. Counted from the moment the database was asked, so that it is
 * never too long: a worker that hears nothing any more knows when others may have its jobs. Times are those of
 * `performance.now()`.
 */
export class Leases {
  readonly #endsAt = new Map<string, number>();

  confirm(token: string, leaseMs: number, askedAt: number): void {
    this.#endsAt.set(token, askedAt + leaseMs);
  }

  hasEnded(token: string, now: number): boolean {
    return now > (this.#endsAt.get(token) ?? Infinity);
  }

  /** Forget all others. */
  keep(tokens: ReadonlyMap<string, unknown>): void {
    for (const token of this.#endsAt.keys()) if (!tokens.has(token)) this.#endsAt.delete(token);
  }
}
