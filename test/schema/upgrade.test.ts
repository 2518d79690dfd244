import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrate, thisRelease } from "../../src/db/migrate.js";
import { migrationStatus } from "../../src/db/schema-version.js";
import { useDatabase } from "../support/database.js";
import { until } from "../support/wait.js";
import { dumpSchema } from "./dump.js";

const db = useDatabase({ migrate: false });
const fresh = useDatabase();

/** The schema as the first release printed it (`millrace migrate --print`). */
const firstRelease = (): string =>
  gunzipSync(readFileSync(new URL("release-1.sql.gz", import.meta.url))).toString("utf8");

describe("a schema of the first release", () => {
  it("with jobs in every state is brought to this one while somebody works with it, and loses none [#53]", async () => {
    const client = await db.connect();
    await client.query(firstRelease());
    await client.query("set search_path = millrace");
    await client.query(
      `select queue_put('plain', '{}'), queue_put('ordered', '{"ordered": true}'), queue_put('batches', '{"ordered": "batches"}')`,
    );
    const enqueue = async (queue: string, options: Record<string, unknown>): Promise<void> => {
      await client.query("select job_enqueue('t', '1', $1)", [JSON.stringify({ queue, ...options })]);
    };
    for (const queue of ["plain", "ordered", "batches"]) {
      for (const options of [
        { group: "a" },
        { group: "a" },
        { group: "b" },
        {},
        { delaySeconds: 3600 },
        { stage: "later" },
        { ttlSeconds: 3600 },
      ])
        await enqueue(queue, options);
    }
    const claimed = await client.query(
      "select token, job_id from job_claim(array['plain', 'ordered', 'batches'], null, 6, null, 600)",
    );
    const [first, second, third, fourth, ...held] = claimed.rows as { token: string; job_id: string }[];
    const report = (verb: string, job?: { token: string; job_id: string }) =>
      client.query(`select ${verb}($1, array[$2::bigint])`, [job?.token, job?.job_id]);
    await report("job_complete", first);
    await report("job_fail", second);
    await client.query("select job_retry($1, array[$2::bigint], null, 3600)", [third?.token, third?.job_id]);
    await client.query("select job_cancel(array[$1::bigint])", [fourth?.job_id]);
    expect(held.length).toBeGreaterThan(0);
    const states = async () => (await client.query("select id, state from millrace.jobs order by id")).rows;
    const before = await states();

    // a report of the release before that has not committed yet
    const worker = await db.connect();
    await worker.query("set search_path = millrace");
    await worker.query("begin");
    await worker.query("select job_enqueue('t', '2', '{\"queue\": \"plain\"}')");
    const migrated = migrate(db.pool);
    await worker.query("select pg_sleep(0.1)");
    await worker.query("commit");
    expect((await migrated).applied).toEqual(
      thisRelease.migrations.slice(1).map(({ number, name }) => `${String(number).padStart(4, "0")}_${name}`),
    );
    expect(await migrationStatus(db.pool)).toMatchObject({ state: "current" });
    expect(await dumpSchema(db)).toBe(await dumpSchema(fresh));
    expect((await states()).slice(0, -1)).toEqual(before);

    const engine = new Engine({ pool: db.pool });
    for (const job of held) await report("job_complete", job);
    await client.query("select stage_release(name, 'later') from queue where name <> 'default'");
    await db.moveClock(7200);
    const queues = ["plain", "ordered", "batches"];
    for (let round = 0; round < 30; round += 1) {
      await engine.maintain();
      for (const job of await engine.claim({ queues, limit: 100 })) await engine.complete(job);
    }
    expect(
      (await states())
        .map(({ state }: { state: string }) => state)
        .filter((state) => !["succeeded", "failed", "cancelled", "expired"].includes(state)),
    ).toEqual([]);
    expect((await client.query("select * from millrace.counts_audit()")).rows).toEqual([]);
    for (const queue of queues) await engine.queueClose(queue);
    await until("all have finished", async () => {
      await engine.maintain();
      return (
        (await client.query("select from millrace.queue where closed_at is not null and finished_at is null"))
          .rowCount === 0
      );
    });
  });
});
