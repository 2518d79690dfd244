import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { Millrace } from "../../src/client/with-workers.js";
import { defineJob } from "../../src/job/define-job.js";
import { useCellMills } from "../support/cell-mills.js";

const cells = useCellMills();
const work = defineJob<{ n: number }, number>("work");
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Connections that write down the text of each statement, also of those in transactions. */
function recording(url: string): { readonly pool: pg.Pool; readonly texts: string[] } {
  const texts: string[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on("error", () => {});
  const record = (given: unknown): void => {
    const text = typeof given === "string" ? given : (given as { text: string }).text;
    // whether a transaction has ended is asked as often as it takes; workers are woken, and what waits is delivered,
    // once for many calls
    if (!/is_committed|^select millrace\.(queue_notify|notices_deliver)/.test(text))
      texts.push(text.replace(/, millrace\.queue_notify\(array\[\$\d+::text\]\)/, ""));
  };
  pool.on("connect", (client) => {
    client.on("error", () => {});
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    client.query = ((...given: unknown[]) => (record(given[0]), query(...given))) as never;
  });
  closing.push(() => pool.end());
  return { pool, texts };
}

function client(options: ConstructorParameters<typeof Millrace>[0]): Millrace {
  const mill = new Millrace({ logger: false, ...options });
  closing.push(() => mill.close());
  return mill;
}

/** All that a program may do with a job and its queue. */
async function useAll(mill: Millrace, pool: pg.Pool, queue: string): Promise<string[]> {
  await mill.queues.put(queue, { maxRunning: 5 });
  const one = await mill.enqueue(work, { n: 1 }, { queue });
  const many = await mill.enqueueMany(work, [{ n: 2 }, { n: 3 }], { queue, delay: "1h" });
  const tx = await pool.connect();
  await tx.query("begin");
  const inside = await mill.enqueue(work, { n: 4 }, { queue, tx });
  await tx.query("commit");
  tx.release();
  const [claimed] = await mill.engine.claim({ queues: [queue], limit: 1 });
  await mill.engine.complete(claimed!, 2);
  expect(await mill.result(one)).toBe(2);
  await mill.cancel(many[0]!);
  await mill.jobs.get(one.id);
  const listed = await mill.jobs.list({ queue });
  await mill.jobs.count({ queue });
  await mill.queues.depth(queue);
  expect(listed).toHaveLength(4);
  return [one, ...many, inside, ...listed].map(({ id }) => id);
}

// first, while none of the cells has been used: all of them are members then
describe("three cells", () => {
  it("send no statement more for a queue and a connection that are known [#240]", async () => {
    const plain = recording(cells.urls.b);
    const own = { a: recording(cells.urls.a), b: recording(cells.urls.b), c: recording(cells.urls.c) };
    const alone = client({ connection: plain.pool });
    const mill = client({ cells: { a: own.a.pool, b: own.b.pool, c: own.c.pool } });
    const queue = await cells.nameIn("b", mill);
    await mill.queues.put(queue);
    // each with one connection of the caller's: a pool may give another one each time, which is asked where it is
    const [plainTx, ownTx] = [await plain.pool.connect(), await own.b.pool.connect()];
    const use = async (one: Millrace, tx: pg.PoolClient): Promise<void> => {
      const { id } = await one.enqueue(work, { n: 1 }, { queue, delay: "1h" });
      await one.enqueueMany(work, [{ n: 2 }, { n: 3 }], { queue, delay: "1h" });
      await one.jobs.get(id);
      await one.cancel(id);
      await tx.query("begin");
      await one.enqueue(work, { n: 4 }, { queue, tx, delay: "1h" });
      await one.enqueue(work, { n: 5 }, { queue, tx, delay: "1h" });
      await tx.query("commit");
    };
    await use(alone, plainTx);
    await use(mill, ownTx); // a connection of the caller's is asked once where it is
    for (const { texts } of [plain, ...Object.values(own)]) texts.length = 0;
    await use(alone, plainTx);
    await use(mill, ownTx);
    for (const tx of [plainTx, ownTx]) tx.release();
    expect(plain.texts.length).toBeGreaterThanOrEqual(8);
    expect(own.b.texts).toEqual(plain.texts);
    expect([...own.a.texts, ...own.c.texts]).toEqual([]);
  });
});

describe("one cell", () => {
  it("sends the statements that one connection sends, and its ids are plain [#225]", async () => {
    const [plain, cell] = [recording(cells.urls.a), recording(cells.urls.a)];
    const idsOfPlain = await useAll(client({ connection: plain.pool }), plain.pool, "one-connection");
    const idsOfCell = await useAll(client({ cells: { a: cell.pool } }), cell.pool, "one-cell");
    expect(plain.texts.length).toBeGreaterThan(10);
    expect(cell.texts).toEqual(plain.texts);
    for (const id of [...idsOfPlain, ...idsOfCell]) expect(id).toMatch(/^\d+$/);
  });
});
