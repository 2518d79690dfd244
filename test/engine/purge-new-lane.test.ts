import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();

it("a purge does not miss a lane that somebody is finding just now", async () => {
  const queue = await newQueue(db);
  await db.engine.enqueue({ type: "first-of-its-type", queue });
  const upkeep = await db.connect();
  await upkeep.query("begin");
  await upkeep.query("select lane_discover()");
  const purging = db.engine.purge(queue);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await upkeep.query("commit");
  expect(await purging).toBe(1);
  expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
});
