import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("looking for jobs whose time to start has passed", () => {
  it("costs as much as there are, however many jobs have ended", async () => {
    const queue = await newQueue(db);
    // Some end with records of their own, some together, as in life.
    for (let n = 0; n < 400; n += 1) {
      await db.engine.enqueueMany("t", [1, 2, 3, 4, 5], { queue });
      const jobs = await db.engine.claim({ queues: [queue], limit: 5 });
      for (const job of jobs.slice(0, 3)) await db.engine.complete(job, n);
      await db.engine.completeMany(
        jobs[0]!.token,
        jobs.slice(3).map(({ id }) => id),
      );
    }
    const [ended] = await db.engine.enqueueMany("t", ["ends", "does not"], { queue, ttlSeconds: 60 });
    await db.engine.complete(await claimOne(db, queue));
    await db.sql("analyze");
    const client = await db.connect();
    await client.query("select expiry_sweep_run()"); // the session's first call reads the catalog
    await db.moveClock(61);
    // the least of three: after an automatic ANALYZE all is planned again, which reads the catalog
    const blocks: number[] = [];
    for (let look = 0; look < 3; look += 1) {
      await client.query("begin");
      const { rows } = await client.query("explain (analyze, buffers, format json) select expiry_sweep_run()");
      await client.query("rollback");
      const plan = rows[0]["QUERY PLAN"][0].Plan;
      blocks.push(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
    }
    expect(Math.min(...blocks)).toBeLessThan(2000);
    await client.query("select expiry_sweep_run()");
    expect(await jobOf(db, ended!.id)).toMatchObject({ state: "succeeded" });
    expect(await db.engine.list({ queue, state: "expired" })).toMatchObject([{ input: "does not" }]);
  });
});
