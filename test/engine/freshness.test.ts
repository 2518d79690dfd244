import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("x", () => {
  it("sets aside", async () => {
    const queue = await newQueue(db);
    const old = await db.engine.enqueueMany("t", [1, 2, 3], { queue });
    expect(await db.sql("select queue_set_aside($1)::int as n", [queue])).toEqual([{ n: 3 }]);
    const fresh = await db.engine.enqueueMany("t", [4, 5], { queue });
    const jobs = [];
    for (let i = 0; i < 6; i += 1) jobs.push(...(await db.engine.claim({ queues: [queue] })).map((job) => job.id));
    expect(jobs).toEqual([...fresh, ...old].map(({ id }) => id));
    expect(await db.sql("select * from aside")).toEqual([]);
  });
});
