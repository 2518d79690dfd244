import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

it("the first job of a group that comes due is claimed, also when its turn is far behind another of the same group [invariant 1]", async () => {
  const queue = await newQueue(db);
  await db.engine.enqueueEach(times(200).map((n) => ({ type: "t", queue, group: `g${n}`, input: n })));
  await db.engine.enqueue({ type: "t", queue, group: "g0", input: "late", delaySeconds: 10 });
  await db.moveClock(11);
  await db.engine.maintain(); // it is due, and its group is in line once more, behind all others
  const claimed: unknown[] = [];
  for (;;) {
    const jobs = await db.engine.claim({ queues: [queue], limit: 1 });
    if (jobs.length === 0) break;
    claimed.push(jobs[0]!.input);
  }
  expect(claimed).toHaveLength(201);
  expect(claimed).toContain("late");
});
