import type pg from "pg";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { enqueue, newQueue } from "../support/jobs.js";
import { pagesOf, percentile } from "../support/steps.js";

const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("a claim in one queue beside a large backlog in another", () => {
  // The statement speaks of a million; work that grew with the backlog would show at this one as well, pages being
  // counted and not time.
  const backlog = 200_000;

  it("touches no more pages than beside none [#82]", { timeout: 180_000 }, async () => {
    const [noisy, quiet] = [await newQueue(db), await newQueue(db)];
    const client = await db.connect();
    await measure(client, quiet); // the session's first calls read the catalog
    const alone = await measure(client, quiet);

    await db.engine.enqueueEach(times(2000).map((n) => ({ type: "t", queue: noisy, group: `g${n % 500}` })));
    for (const _ of times(10)) await db.engine.claim({ queues: [noisy], limit: 100, leaseSeconds: 3600 });
    await db.engine.maintain();
    const besideFew = await measure(client, quiet);

    for (let n = 0; n < backlog / 10_000; n += 1) {
      await db.sql(
        `select from job_enqueue_many((select json_agg(n) from generate_series(1, 10000) n), json_build_object('type', 't', 'queue', $1::text))`,
        [noisy],
      );
    }
    await db.engine.maintain();
    expect((await db.engine.queueDepth(noisy)).ready).toBe(backlog + 1000);
    const besideMany = await measure(client, quiet);
    expect(percentile(besideMany, 0.5)).toBeLessThanOrEqual(percentile(besideFew, 0.5) * 1.1);
    expect(percentile(besideMany, 0.99)).toBeLessThanOrEqual(percentile(alone, 0.99) * 2);
  });

  /** Pages that each of 100 claims touches, one ready job each. */
  async function measure(client: pg.Client, queue: string): Promise<number[]> {
    for (const input of times(100)) await enqueue(db, queue, { type: "t", input });
    const pages: number[] = [];
    for (const _ of times(100))
      pages.push(await pagesOf(client, `select job_claim_json('{${queue}}', null, 1, 'w', 3600)`));
    await client.query(
      "delete from claim where lane in (select l.key from lane l join queue q on q.id = l.queue_id where q.name = $1)",
      [queue],
    );
    return pages;
  }
});
