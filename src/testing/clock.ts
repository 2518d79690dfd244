import type pg from "pg";

const RealDate = Date;
let aheadMs = 0;

/** `Date` as the test sees it: the real one, moved. Timers are not touched. */
class MovedDate extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [RealDate.now() + aheadMs] : args) as [number]));
  }

  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}

/** Moves the time of this process (`Date`, not timers) and that of the queue in the database together. */
export class TestClock {
  #moved = false;

  constructor(
    /** Connections to the database whose time is moved. */
    readonly pool: pg.Pool,
    /** The schema that holds the queue. */
    readonly schema: string,
  ) {}

  /** The time as this test sees it. */
  now(): Date {
    return new Date();
  }

  /** Go forward. Due jobs become claimable, leases and expiries end, as if the time had passed. */
  async advance(ms: number): Promise<void> {
    const schema = `"${this.schema}"`;
    if (!this.#moved) {
      this.#moved = true;
      await this.pool.query(`
        create table if not exists ${schema}.test_clock (ahead interval not null);
        insert into ${schema}.test_clock values ('0');
        create or replace function ${schema}.clock_now() returns timestamptz language plpgsql volatile as
          $$ begin return clock_timestamp() + (select ahead from ${schema}.test_clock); end $$;`);
      globalThis.Date = MovedDate as DateConstructor;
    }
    await this.pool.query(`update ${schema}.test_clock set ahead = ahead + make_interval(secs => $1)`, [ms / 1000]);
    aheadMs += ms;
  }

  /** Give the process its own time back. */
  restore(): void {
    if (!this.#moved) return;
    aheadMs = 0;
    globalThis.Date = RealDate;
  }
}
