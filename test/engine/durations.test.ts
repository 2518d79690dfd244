import { describe, expect, it } from "vitest";
import type { AttemptRecord, RunStats } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";
import { invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();
let types = 0;
const newType = (): string => `type-${(types += 1)}`;

/** Run a job of a type for some seconds. */
async function run(
  queue: string,
  type: string,
  seconds: number,
  end: "complete" | "fail" | "retry" | "cancel" = "complete",
): Promise<string> {
  const id = await enqueue(db, queue, { type });
  const job = await claimOne(db, queue, { types: [type], leaseSeconds: 86_400 });
  await db.moveClock(seconds);
  if (end === "complete") await db.engine.complete(job);
  else if (end === "fail") await db.engine.fail(job);
  else if (end === "retry") await db.engine.retryLater(job, { message: "no" }, 1e6);
  else await db.engine.cancel([id]);
  return id;
}

/** The same from the records themselves. */
function computed(type: string, windowSeconds: number, now: Date, records: readonly AttemptRecord[]): RunStats {
  const within = records.filter((one) => one.finishedAt.getTime() > now.getTime() - windowSeconds * 1000);
  const seconds = within.map((one) => (one.finishedAt.getTime() - one.startedAt.getTime()) / 1000);
  const totalSeconds = seconds.reduce((a, b) => a + b, 0);
  return {
    type,
    windowSeconds,
    runs: within.length,
    succeeded: within.filter((one) => one.outcome === "succeeded").length,
    failed: within.filter((one) => one.outcome === "failed").length,
    totalSeconds,
    averageSeconds: within.length === 0 ? null : totalSeconds / within.length,
    lastSeconds: seconds.at(-1) ?? null,
    lastFinishedAt: within.at(-1)?.finishedAt ?? null,
  };
}

/** Times in JavaScript are whole milliseconds. */
function expectClose(found: readonly RunStats[], expected: readonly RunStats[]): void {
  const rounded = (rows: readonly RunStats[]) =>
    rows.map((stats) => ({ ...stats, totalSeconds: expect.closeTo(stats.totalSeconds, 1), ...approximate(stats) }));
  expect(found).toEqual(rounded(expected));
}
const approximate = ({ averageSeconds, lastSeconds }: RunStats) => ({
  averageSeconds: averageSeconds === null ? null : expect.closeTo(averageSeconds, 1),
  lastSeconds: lastSeconds === null ? null : expect.closeTo(lastSeconds, 1),
});

describe("durations of runs", () => {
  it("equal those computed from the records of attempts, over several windows [#70]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const ids: string[] = [];
    for (const [seconds, end] of [
      [50, "complete"],
      [7, "fail"],
      [90_000, "retry"],
      [4000, "complete"],
      [20, "cancel"],
      [1800, "complete"],
      [12, "fail"],
      [5, "complete"],
    ] as const)
      ids.push(await run(queue, type, seconds, end));
    const records = (await Promise.all(ids.map(async (id) => (await db.engine.get(id))!.attempts))).flat();
    expect(records).toHaveLength(8);
    const windows = [60, 3600, 86_400, 1e6];
    const now = await clockNow(db);
    const stats = await db.engine.durations({ type, windowsSeconds: windows });
    expectClose(
      stats,
      windows.map((seconds) => computed(type, seconds, now, records)),
    );
    expect(stats.map(({ runs, succeeded, failed }) => [runs, succeeded, failed])).toEqual([
      [3, 2, 1],
      [5, 3, 1],
      [6, 3, 2],
      [8, 4, 3],
    ]);
    expect(stats[3]!.totalSeconds).toBeCloseTo(50 + 7 + 90_000 + 4000 + 20 + 1800 + 12 + 5, 0);
    expect(stats[3]!.lastSeconds).toBeCloseTo(5, 0);
  });

  it("count each attempt of a job, the lost ones too [#70]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    await enqueue(db, queue, { type, retry: 0 });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    await db.engine.retryLater(await claimOne(db, queue));
    await db.engine.complete(await claimOne(db, queue));
    const [stats] = await db.engine.durations({ type, windowsSeconds: [60] });
    expect(stats).toMatchObject({ runs: 3, succeeded: 1, failed: 1 });
    expect(stats!.totalSeconds).toBeGreaterThanOrEqual(10);
  });

  it("come per type, of one queue or of all, with a minute, an hour and a day as windows [#70]", async () => {
    const [here, there] = [await newQueue(db), await newQueue(db)];
    const [x, y] = [newType(), newType()];
    await db.moveClock(86_400);
    await run(here, x, 2);
    await run(there, x, 4);
    await db.moveClock(60);
    await run(here, y, 6);
    const shown = (rows: readonly RunStats[]) =>
      rows.map(({ type, windowSeconds, runs }) => [type, windowSeconds, runs]);
    expect(shown(await db.engine.durations())).toEqual([
      [x, 60, 0],
      [x, 3600, 2],
      [x, 86_400, 2],
      [y, 60, 1],
      [y, 3600, 1],
      [y, 86_400, 1],
    ]);
    expect(shown(await db.engine.durations({ queue: there, windowsSeconds: [3600] }))).toEqual([[x, 3600, 1]]);
  });

  it("of a type that has not run are zeros, not an error [#70]", async () => {
    const type = newType();
    expect(await db.engine.durations({ type, windowsSeconds: [60] })).toEqual([computed(type, 60, new Date(), [])]);
  });

  it("refuse windows that are none [#70]", async () => {
    for (const windowsSeconds of [[], [0], [-1], [Number.NaN], [Infinity], Array.from({ length: 101 }, () => 1)])
      await expect(db.engine.durations({ windowsSeconds })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.durations({ queue: "nobody-made-this" })).rejects.toMatchObject(queueNotFound);
  });
});
