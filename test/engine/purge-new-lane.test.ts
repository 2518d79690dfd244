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
  const purging = db.engine.queuePurge(queue);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await upkeep.query("commit");
  expect(await purging).toBe(1);
  expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
});

it("a claim that may not wait for a lane somebody is just finding says that it was busy, and not that there is nothing", async () => {
  const queue = await newQueue(db);
  const { id } = await db.engine.enqueue({ type: "t", queue });
  const upkeep = await db.connect();
  await upkeep.query("begin");
  await upkeep.query("select lane_discover()");
  const claimer = await db.connect();
  await claimer.query("begin; select pg_current_xact_id()"); // what has a number may hold what others wait for
  const claim = async (): Promise<Record<string, unknown>[]> =>
    (await claimer.query("select job_claim_json(array[$1]) as claims", [queue])).rows[0].claims;
  expect(await claim()).toMatchObject([{ busy: true }]);
  await upkeep.query("commit");
  expect(await claim()).toMatchObject([{ ids: [id] }]);
  await claimer.query("commit");
});
