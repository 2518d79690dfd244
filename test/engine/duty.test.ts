import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Maintainer } from "../../src/maintenance/maintainer.js";
import { useDatabase } from "../support/database.js";
import { enqueue, newQueue } from "../support/jobs.js";
import { until } from "../support/wait.js";

const db = useDatabase();

/** Jobs whose time to start has passed are closed by whoever does the duty. */
async function leaveWork(): Promise<void> {
  const queue = await newQueue(db);
  for (let n = 0; n < 3; n += 1) await enqueue(db, queue, { ttlSeconds: 1 });
  await db.moveClock(2);
}

describe("upkeep", () => {
  it("is done by one of several that want to, within the time they share [#90]", async () => {
    await db.engine.maintain({ everySeconds: 5 });
    await leaveWork();
    await db.moveClock(5);
    const reports = await Promise.all(Array.from({ length: 6 }, () => db.engine.maintain({ everySeconds: 5 })));
    expect(reports.map(({ expired }) => expired).filter((count) => count > 0)).toEqual([3]);
    await leaveWork();
    expect((await db.engine.maintain({ everySeconds: 5 })).expired).toBe(0);
    await db.moveClock(5);
    expect((await db.engine.maintain({ everySeconds: 5 })).expired).toBe(3);
  });

  it("gives space back by one of several, once within the time they share [#90]", async () => {
    const asked = { everySeconds: 5, spaceSeconds: 60 };
    await db.moveClock(5);
    expect((await db.engine.maintain(asked)).space).toBe(false); // from now on
    const told: boolean[] = [];
    for (let round = 0; round < 26; round += 1) {
      await db.moveClock(5);
      const reports = await Promise.all(Array.from({ length: 3 }, () => db.engine.maintain(asked)));
      told.push(reports.filter(({ space }) => space).length === 1);
      expect(reports.filter(({ space }) => space).length).toBeLessThan(2);
    }
    expect(told.filter(Boolean)).toHaveLength(2); // in 130 seconds
    await db.moveClock(120);
    expect((await db.engine.maintain()).space).toBe(false); // who does not ask is not told
  });

  it("is taken over when whoever was doing it is gone, and nothing is done twice or left out [#90]", async () => {
    await db.moveClock(60);
    await leaveWork();
    const first = await db.connect();
    first.on("error", () => {}); // it will be cut off
    await first.query("begin");
    const { rows } = await first.query("select millrace.maintain(5) as report, pg_backend_pid() as pid");
    expect(rows[0].report.expired).toBe(3);
    expect((await db.engine.maintain({ everySeconds: 5 })).expired).toBe(0); // somebody is at it, and not waited for
    await db.sql("select pg_terminate_backend($1)", [rows[0].pid]);
    await until("somebody else has done it", async () => (await db.engine.maintain({ everySeconds: 5 })).expired === 3);
    expect((await db.engine.maintain()).expired).toBe(0);
  });

  it("goes on in any process that is left, and ends with the last [#90]", async () => {
    await db.moveClock(60);
    const doneAt = async (): Promise<number> =>
      Number(
        (await db.sql("select extract(epoch from done_at) as at from millrace.duty where name = 'maintain'"))[0]!["at"],
      );
    const maintainers = Array.from({ length: 3 }, () => new Maintainer({ engine: db.engine, interval: "50ms" }));
    for (const maintainer of maintainers) maintainer.start();
    for (const maintainer of maintainers) {
      const before = await doneAt();
      await until("it was done again", async () => (await doneAt()) > before);
      await maintainer.stop();
    }
    const last = await doneAt();
    await sleep(200);
    expect(await doneAt()).toBe(last);
  });
});
