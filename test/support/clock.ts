import type { TestDatabase } from "./database.js";

export const hour = 3600;
export const day = 24 * hour;

/** What the database's clock says, to the millisecond below. */
export async function clockNow(db: TestDatabase): Promise<Date> {
  const [row] = await db.sql<{ now: Date }>("select clock_now() as now");
  return row!.now;
}

/** Move the clock forward to the next noon, so that no test crosses midnight by chance: days are the ring's unit. */
export async function moveClockToNoon(db: TestDatabase): Promise<void> {
  const secondsToday = ((await clockNow(db)).getTime() / 1000) % day;
  await db.moveClock((secondsToday < day / 2 ? day / 2 : day * 1.5) - secondsToday);
}

/** A clock that stands still unless told otherwise, for tests of exact boundaries. */
export interface StoppedClock {
  /** What it shows; whole milliseconds as long as it was advanced by such. */
  now(): Promise<Date>;
  advance(seconds: number): Promise<void>;
}

/** Stop the database's clock for everybody. Not to be mixed with `moveClock`, which starts it again. */
export async function stopClock(db: TestDatabase): Promise<StoppedClock> {
  await db.sql("create table public.stopped_clock as select date_trunc('second', clock_timestamp()) as shows");
  await db.sql(`create or replace function millrace.clock_now() returns timestamptz language plpgsql volatile as
    $$ begin return (select shows from public.stopped_clock); end $$`);
  return {
    now: () => clockNow(db),
    async advance(seconds) {
      await db.sql("update public.stopped_clock set shows = shows + make_interval(secs => $1)", [seconds]);
    },
  };
}
