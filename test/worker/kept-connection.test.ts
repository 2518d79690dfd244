import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { Millrace, defineJob } from "../../src/index.js";
import { useDatabase } from "../support/database.js";
import { enqueue, newQueue } from "../support/jobs.js";
import { until } from "../support/wait.js";

const db = useDatabase();
const work = defineJob("work");

/** A worker on a pool of its own, with a count of what it ran. */
async function workOn(queue: string, max: number) {
  const pool = new pg.Pool({ connectionString: db.url, max, application_name: `kept ${queue}` });
  pool.on("error", () => {});
  const mill = new Millrace({ connection: pool });
  const ran: string[] = [];
  const worker = mill.worker({ queues: [queue], maintenance: false }).handle(work, ({ id }) => void ran.push(id));
  worker.on("error", () => {});
  onTestFinished(async () => {
    await mill.close();
    await pool.end();
  });
  await worker.start();
  await until("a connection is kept", () => pool.totalCount > 0 && pool.waitingCount === 0);
  return { pool, worker, ran };
}
const backends = (queue: string) =>
  db.sql<{ pid: number }>("select pid from pg_stat_activity where application_name = $1", [`kept ${queue}`]);

describe("the connection kept for claims", () => {
  it("serves them while all others of the pool are taken, and is given back in the end", async () => {
    const queue = await newQueue(db);
    const { pool, worker, ran } = await workOn(queue, 4);
    const taken = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const ids = [await enqueue(db, queue), await enqueue(db, queue)];
    await until("both have run", () => ran.length === 2);
    expect(ran.toSorted()).toEqual(ids.toSorted());
    for (const connection of taken) connection.release();
    await worker.stop();
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it("is replaced when the server ends it, idle or not", async () => {
    const queue = await newQueue(db);
    const { ran } = await workOn(queue, 4);
    for (const round of [1, 2, 3]) {
      await db.sql("select pg_terminate_backend(pid) from unnest($1::int[]) pid", [
        (await backends(queue)).map(({ pid }) => pid),
      ]);
      await enqueue(db, queue);
      await until("it has run", () => ran.length === round);
    }
  });

  it("is not taken from a pool that has few", async () => {
    const queue = await newQueue(db);
    const { pool, ran } = await workOn(queue, 3);
    await until("none is in use", () => pool.idleCount === pool.totalCount);
    await enqueue(db, queue);
    await until("it has run", () => ran.length === 1);
  });
});
