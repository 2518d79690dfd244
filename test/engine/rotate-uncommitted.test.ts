import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { until } from "../support/wait.js";

const db = useDatabase();
const day = 86_400;

it("a job that is committed long after it was enqueued is not lost with its day", async () => {
  await db.engine.cellPut({ retentionSucceededSeconds: 60 });
  // Whoever empties a day waits 200 ms for those who use it: tried until it did not give up.
  for (let rotated = 0, tries = 0; rotated < 3; tries += 1) {
    expect(tries).toBeLessThan(30);
    await db.engine.enqueue({ type: "old" });
    const [old] = await db.engine.claim({ types: ["old"] });
    await db.engine.complete(old!);
    const slow = await db.connect();
    await slow.query("begin");
    const late = await db.engine.enqueue({ type: "late" }, { tx: slow });
    await db.moveClock(3 * day);
    let worked: number | undefined;
    const rotating = db.sql<{ n: number }>("select millrace.job_rotate() as n").then(([row]) => (worked = row!.n));
    await until("somebody waits for it", async () => {
      const [waits] = await db.sql<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%job_rotate%' and pid <> pg_backend_pid()",
      );
      return waits!.n > 0 || worked !== undefined;
    });
    await slow.query("commit");
    rotated += await rotating;
    const [found] = await db.engine.claim({ types: ["late"] });
    expect(found?.id).toBe(late.id);
    await db.engine.complete(found!);
  }
});
