import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, nextTicketChild } from "../support/steps.js";
import { until } from "../support/wait.js";

const db = useDatabase();

describe("groups that come and go", () => {
  it("leave nothing behind once their tickets are gone, and are found again [#85]", async () => {
    const queue = await newQueue(db);
    const jobs = Array.from({ length: 200 }, (_, n) => ({ type: "t", queue, group: `g${n}` }));
    const cursors = async (): Promise<number> =>
      Number(
        (
          await db.sql(
            "select count(*) as n from lane_cursor c join lane l on l.key = c.lane join queue q on q.id = l.queue_id where q.name = $1",
            [queue],
          )
        )[0]!["n"],
      );
    await db.engine.enqueueEach(jobs);
    expect(await claimAll(db, queue)).toHaveLength(200);
    expect(await cursors()).toBe(200);
    await nextTicketChild(db);
    await until("their cursors are gone", async () => {
      // passes what is left in line: while somebody's transaction was open, it could not be told that it does not count
      expect(await claimAll(db, queue)).toEqual([]);
      await db.engine.maintainSpace();
      return (await cursors()) === 0;
    });
    await db.engine.enqueueEach(jobs);
    expect(await claimAll(db, queue)).toHaveLength(200);
    expect(await claimAll(db, queue)).toEqual([]);
  });
});

describe("an ordered group whose job waits for its next attempt", () => {
  it("keeps its order when all its tickets are gone [#158]", async () => {
    const queue = `${await newQueue(db)}-ordered`;
    await db.engine.queuePut(queue, { ordered: true });
    const { id: first } = await db.engine.enqueue({ type: "t", queue, group: "g" });
    const [job] = await db.engine.claim({ queues: [queue] });
    await db.engine.retryLater(job!, { message: "not yet" }, 3600);
    await nextTicketChild(db);
    await db.engine.enqueue({ type: "other", queue }); // lets cursors enter the next child
    for (let n = 0; n < 20; n += 1) {
      await db.engine.claim({ queues: [queue] });
      await db.engine.maintainSpace();
    }
    const { id: second } = await db.engine.enqueue({ type: "t", queue, group: "g" });
    expect(await claimAll(db, queue, { types: ["t"] })).toEqual([]);
    await db.moveClock(3600);
    const inOrder: string[] = [];
    for (const expected of [first, second]) {
      const [next] = await db.engine.claim({ queues: [queue], types: ["t"] });
      inOrder.push(next?.id ?? `not ${expected}`);
      if (next) await db.engine.complete(next);
    }
    expect(inOrder).toEqual([first, second]);
  });
});
