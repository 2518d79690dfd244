import { beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../src/db/migrate.js";
import { smallRing } from "../simulation/simulation.js";
import { useDatabase } from "../support/database.js";
import { enqueue, idsOf } from "../support/jobs.js";

const db = useDatabase({ migrate: false });
beforeAll(() => migrate(db.pool, { release: smallRing() }));

describe("a backlog that is longer than the ring of tickets", () => {
  it.each(["acme", undefined])(
    "is handed out in order, and none of it lost, with the group %s [invariant 1] [invariant 2]",
    { timeout: 60_000 },
    async (group) => {
      const queue = `of-${group ?? "nobody"}`;
      await db.engine.queuePut(queue);
      const made: string[] = [];
      // 64 transactions to a child, 8 children
      for (let n = 0; n < 700; n += 1) made.push(await enqueue(db, queue, group === undefined ? {} : { group }));
      const taken: string[] = [];
      for (let idle = 0; idle < 3;) {
        const ids = idsOf(await db.engine.claim({ queues: [queue], limit: 10, leaseSeconds: 600 }));
        taken.push(...ids);
        idle = ids.length === 0 ? idle + 1 : 0;
      }
      expect(taken).toEqual(made);
    },
  );
});
