import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("a transaction with very many tickets", () => {
  it("is claimed from at the same cost from its beginning to its end", async () => {
    const queue = await newQueue(db);
    await db.sql(
      `select count(millrace.job_enqueue('t', null, json_build_object('queue', $1::text))) from generate_series(1, 3000)`,
      [queue],
    );
    const pages = async () => {
      const tx = await db.connect();
      await tx.query("begin");
      await db.engine.claim({ queues: [queue], limit: 1 }, { tx });
      const { rows } = await tx.query(`
        select sum(pg_stat_get_xact_blocks_fetched(i.indexrelid))::int as n from pg_index i
         where i.indrelid in (select inhrelid from pg_inherits where inhparent = 'millrace.ticket'::regclass)`);
      await tx.query("commit");
      return rows[0].n as number;
    };
    await pages();
    const first = await pages();
    expect(first).toBeGreaterThan(0);
    expect(await db.engine.claim({ queues: [queue], limit: 2900 })).toHaveLength(2900);
    expect(await pages()).toBeLessThanOrEqual(2 * first);
  });
});
