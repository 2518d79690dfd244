import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, idsOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const now = async (): Promise<Date> => (await db.sql<{ now: Date }>("select clock_timestamp() as now"))[0]!.now;

describe("shedding what was enqueued before a time [#108]", () => {
  it("drops what waits, ready and delayed, and nothing else", async () => {
    const queue = await newQueue(db);
    const [running] = await db.engine.enqueueMany("t", [0], { queue });
    expect(await claimIds(db, queue)).toEqual([running!.id]);
    const old = await db.engine.enqueueMany("t", times(250), { queue });
    const [delayed] = await db.engine.enqueueMany("t", [1], { queue, delaySeconds: 3600 });
    const [urgent] = await db.engine.enqueueMany("u", [1], { queue, priority: 0 });
    const cancelled = old[7]!;
    await db.engine.cancel([cancelled.id]);
    const before = await now();
    const fresh = await db.engine.enqueueMany("t", times(3), { queue });
    await db.engine.queueShed(queue, before);
    expect(await stateOf(db, running!.id)).toBe("running");
    for (const id of [old[0]!, old[249]!, delayed!, urgent!].map((job) => job.id)) {
      expect((await db.engine.get(id))!.job).toMatchObject({ state: "cancelled", reason: "purged" });
    }
    expect(await stateOf(db, fresh[0]!.id)).toBe("ready");
    expect(await db.engine.depth(queue)).toMatchObject({ ready: 3, delayed: 0, running: 1 });
    expect(await claimIds(db, queue)).toEqual(idsOf(fresh));
    expect(await db.sql("select count(*)::int as n from lane_purge where is_open")).toEqual([{ n: 2 }]);
    await db.engine.maintain();
    expect(await db.sql("select count(*)::int as n from lane_purge where is_open")).toEqual([{ n: 0 }]);
  });
});
