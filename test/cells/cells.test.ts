import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { CellError, DatabaseUnavailableError } from "../../src/db/errors.js";
import type { CellsWorker } from "../../src/cells/cells-worker.js";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { defineJob } from "../../src/job/define-job.js";
import { useCellMills } from "../support/cell-mills.js";
import { startProxy } from "../support/proxy.js";
import { inDatabase, onServer } from "../support/server.js";
import { until } from "../support/wait.js";

const cells = useCellMills();
const double = defineJob<{ n: number }, number>("double");
const names = ["a", "b", "c"] as const;

const two = (): { a: string; b: string } => ({ a: cells.urls.a, b: cells.urls.b });

describe("where queues are", () => {
  it("[#226] is the same for every process, and one more cell reroutes no queue", async () => {
    const old = cells.open({ cells: two() });
    const queues = Array.from({ length: 12 }, (_, n) => `early-${n}`);
    for (const queue of queues) await old.queues.put(queue);
    const homes = await Promise.all(queues.map((queue) => old.cells!.whereIs(queue)));
    expect(new Set(homes)).toEqual(new Set(["a", "b"]));
    const whereIn = (mill: Millrace): Promise<string[]> =>
      Promise.all(queues.map((queue) => mill.cells!.whereIs(queue)));

    const late = cells.open();
    expect(await whereIn(late)).toEqual(homes);
    expect((await late.cells!.list()).map(({ name, state }) => [name, state])).toEqual([
      ["a", "member"],
      ["b", "member"],
      ["c", "known"],
    ]);
    await late.cells!.add("c");
    expect(await whereIn(late)).toEqual(homes);
    expect(await whereIn(cells.open())).toEqual(homes);

    // a process that does not have the new cell creates nothing in its place
    const ofC = await cells.nameIn("c", late);
    await expect(old.queues.put(ofC)).rejects.toMatchObject({ code: "MR023", reason: "unknown", cell: "c" });
    await late.queues.put(ofC);
    expect(await cells.open().cells!.whereIs(ofC)).toBe("c");
  });
});

it("[#236] a client that is several moves behind finds the queue", async () => {
  const [mill, stale, narrow] = [cells.open(), cells.open(), cells.open({ cells: two() })];
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue);
  for (const one of [stale, narrow]) await one.cancel(await one.enqueue("work", 1, { queue }));
  for (const cell of ["b", "c"]) await mill.cells!.move(queue, cell);
  expect((await stale.enqueue("work", 2, { queue })).id).toMatch(/^c:/);
  // one that does not have that cell is told which it is
  const gone = { code: "MR023", reason: "gone", cell: "c" };
  for (const one of [narrow, cells.open({ cells: two() })])
    await expect(one.enqueue("work", 2, { queue })).rejects.toMatchObject(gone);
});

describe("a transaction of the caller's", () => {
  it("[#117] wakes the workers of its cell when it has committed, and nobody before", async () => {
    const mill = cells.open();
    const queue = await cells.nameIn("b", mill);
    await mill.queues.put(queue);
    const [tx, ear] = [cells.urls.b, cells.urls.b].map((connectionString) => new pg.Client({ connectionString }));
    const heard: string[] = [];
    ear!.on("notification", ({ payload }) => heard.push(payload!));
    await Promise.all([tx!.connect(), ear!.connect()]);
    await ear!.query('listen "millrace:millrace"');
    await tx!.query("begin");
    const { id } = await mill.enqueue("work", {}, { queue, tx: tx! });
    await mill.tell(id, "go", null, { tx: tx! });
    await ear!.query("select pg_sleep(0.1)");
    expect(heard).not.toContain(queue);
    await tx!.query("commit");
    await until("it is heard", () => heard.includes(queue));
    await Promise.all([tx!.end(), ear!.end()]);
  });
});

it("[#117] a transaction of the caller's is one of its cell, whichever way it has come there", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "socket-"));
  chmodSync(folder, 0o777); // the server of root runs as another user
  const server = await startEmbeddedServer({ settings: { fsync: "off", unix_socket_directories: folder } });
  onTestFinished(async () => {
    await server.stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  });
  await onServer(server.url, "create database other");
  const urls = { near: server.url, other: inDatabase(server.url, "other") };
  for (const connectionString of Object.values(urls)) {
    const pool = new pg.Pool({ connectionString });
    await migrate(pool);
    await pool.end();
  }
  const mill = cells.open({ cells: urls });
  const queues = [await cells.nameIn("near", mill), await cells.nameIn("other", mill)];
  for (const queue of queues) await mill.queues.put(queue);
  const { username: user, password, port } = new URL(server.url);
  const tx = new pg.Client({ host: folder, port: Number(port), user, password, database: "postgres" });
  await tx.connect();
  await tx.query("begin");
  expect((await mill.enqueue("work", {}, { queue: queues[0]!, tx })).id).toMatch(/^near:/);
  const elsewhere = mill.enqueue("work", {}, { queue: queues[1]!, tx });
  await expect(elsewhere).rejects.toMatchObject({ code: "MR023", reason: "foreign" });
  await tx.end();
  await mill.close();
});

describe("jobs of three servers", () => {
  it("[#227] are enqueued, run and told apart", async () => {
    const mill = cells.open();
    const queues = await Promise.all(names.map((cell) => cells.nameIn(cell, mill)));
    for (const queue of queues) await mill.queues.put(queue);
    const worker = cells.worker(mill, queues);
    const seen: string[] = [];
    const told: string[] = [];
    worker.on("success", (job) => told.push(job.id));
    worker.handle(double, async (job) => {
      seen.push(job.id);
      return job.input.n * 2;
    });
    await worker.start();
    const jobs = [];
    for (const [n, queue] of queues.entries()) jobs.push(await mill.enqueue(double, { n }, { queue }));
    const ids = jobs.map(({ id }) => id);
    expect(ids.map((id) => id.split(":")[0])).toEqual(["a", "b", "c"]);
    expect(await Promise.all(jobs.map((job) => mill.result(job, { timeout: "30s" })))).toEqual([0, 2, 4]);
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(told.toSorted()).toEqual(ids.toSorted());
    for (const id of ids) expect((await mill.jobs.get(id))?.job).toMatchObject({ id, state: "succeeded" });
    expect(await mill.jobs.get(ids[0]!.replace("a:", "b:"))).toBeNull();
    const waiting = await mill.enqueue(double, { n: 1 }, { queue: queues[1]!, delay: "1h" });
    await expect(mill.cancel(waiting.id.replace("b:", "c:"))).rejects.toMatchObject({ code: "MR002" });
    expect(await mill.cancel(waiting)).toBe(true);
  });

  it("[#239] are listed and counted as the sum of the cells, and a cell that hangs is named", async () => {
    const { b } = cells.urls;
    const proxy = await startProxy(b);
    const mill = cells.open({ cells: { ...cells.urls, b: proxy.url } });
    const queues = await Promise.all(names.map((cell) => cells.nameIn(cell, mill)));
    for (const queue of queues) await mill.queues.put(queue);
    for (const [n, queue] of queues.entries())
      await mill.enqueueMany("sum", Array.from({ length: n + 1 }), { queue, delay: "1h" });
    expect((await mill.jobs.count({ type: "sum" })).delayed).toBe(6);
    const own = await Promise.all(names.map((cell) => cells.dbs[cell].engine.count({ type: "sum" })));
    expect(own.map(({ delayed }) => delayed)).toEqual([1, 2, 3]);
    const all = await mill.jobs.list({ type: "sum" });
    expect(all).toHaveLength(6);
    const paged = [];
    for (let before: string | undefined; ;) {
      const page = await mill.jobs.list({ type: "sum", limit: 2, ...(before === undefined ? {} : { before }) });
      if (page.length === 0) break;
      paged.push(...page);
      before = page.at(-1)!.id;
    }
    expect(paged.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect((await mill.queues.depth(queues[2])).delayed).toBe(3);

    proxy.freeze();
    const { answer, missing } = await mill.cells!.partial(() => mill.jobs.count({ type: "sum" }));
    proxy.thaw();
    expect(answer.delayed).toBe(4);
    expect(missing.map(({ cell }) => cell)).toEqual(["b"]);
  });

  it("[#230] go on in the others when one cell is down, and in it when it is back", async () => {
    const proxy = await startProxy(cells.urls.b);
    const mill = cells.open({
      cells: { ...cells.urls, b: { connectionString: proxy.url, connectionTimeoutMillis: 2000 } },
    });
    const [ofA, ofB] = [await cells.nameIn("a", mill), await cells.nameIn("b", mill)];
    await mill.queues.put(ofA);
    await mill.queues.put(ofB);
    const worker = cells.worker(mill, [ofA, ofB]);
    worker.handle(double, async (job) => job.input.n * 2);
    await worker.start();
    const inB = (): Promise<unknown> => mill.enqueue(double, { n: 2 }, { queue: ofB });
    await inB();
    proxy.cut();
    const failure: unknown = await inB().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DatabaseUnavailableError);
    expect(String(failure)).toContain('cell "b"');
    const jobs = await mill.enqueueMany(
      double,
      Array.from({ length: 50 }, (_, n) => ({ n })),
      { queue: ofA },
    );
    for (const [n, job] of jobs.entries()) expect(await mill.result(job, { timeout: "30s" })).toBe(n * 2);
    proxy.mend();
    const back = await mill.enqueue(double, { n: 4 }, { queue: ofB });
    expect(await mill.result(back, { timeout: "30s" })).toBe(8);
  });

  it("[#230] fail in time, by name, where a connection is open and nobody answers any more", async () => {
    const proxy = await startProxy(cells.urls.b);
    const pool = new pg.Pool({ connectionString: proxy.url, connectionTimeoutMillis: 500, query_timeout: 500 });
    pool.on("error", () => {});
    const mill = cells.open({ cells: { ...cells.urls, b: pool } });
    const [ofA, ofB] = [await cells.nameIn("a", mill), await cells.nameIn("b", mill)];
    await mill.queues.put(ofA);
    await mill.queues.put(ofB);
    const ways: readonly ((queue: string) => Promise<unknown>)[] = [
      (queue) => mill.enqueue(double, { n: 1 }, { queue }),
      (queue) => mill.enqueueMany(double, [{ n: 1 }], { queue }),
      (queue) => mill.enqueue(double, { n: 1 }, { queue, fingerprint: "one" }),
    ];
    for (const enqueue of ways) {
      await mill.enqueue(double, { n: 0 }, { queue: ofB });
      expect(pool.idleCount).toBeGreaterThan(0);
      proxy.freeze();
      const failure: unknown = await enqueue(ofB).catch((error: unknown) => error);
      proxy.thaw();
      expect(failure).toBeInstanceOf(DatabaseUnavailableError);
      expect(String(failure)).toContain('cell "b"');
    }
    await mill.close();
    await pool.end();
  });

  it("[#230] wait for an answer for 30 s where nothing else is said", async () => {
    const pool = new pg.Pool({ connectionString: cells.urls.b });
    pool.on("error", () => {});
    const mill = cells.open({ cells: { ...cells.urls, b: pool } });
    const queue = await cells.nameIn("b", mill);
    await mill.queues.put(queue);
    const waits: (number | undefined)[] = [];
    const ask = pool.query.bind(pool) as (query: { query_timeout?: number }) => Promise<pg.QueryResult>;
    pool.query = ((query: { query_timeout?: number }) => (waits.push(query.query_timeout), ask(query))) as never;
    await mill.enqueue(double, { n: 1 }, { queue });
    await mill.enqueueMany(double, [{ n: 1 }], { queue });
    // the wake-ups of workers are waited for by nobody
    expect(waits.filter((ms) => ms !== undefined)).toEqual([30_000, 30_000]);
    await mill.close();
    await pool.end();
  });

  it("[#241] are neither lost nor run twice while producers commit and roll back", async () => {
    const mill = cells.open();
    const queues = await Promise.all(names.map((cell) => cells.nameIn(cell, mill)));
    for (const queue of queues) await mill.queues.put(queue);
    const runs = new Map<string, number>();
    for (let n = 0; n < 4; n += 1) {
      const worker = cells.worker(mill, queues, { concurrency: 3 });
      worker.handle(double, async (job) => {
        runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
        return 0;
      });
      await worker.start();
      expect((worker as CellsWorker).cells).toHaveLength(3);
    }
    const kept: string[] = [];
    await Promise.all(
      names.flatMap((cell, at) =>
        Array.from({ length: 4 }, async () => {
          const client = new pg.Client({ connectionString: cells.urls[cell] });
          await client.connect();
          for (let n = 0; n < 15; n += 1) {
            await client.query("begin");
            const { id } = await mill.enqueue(double, { n }, { queue: queues[at]!, tx: client });
            await client.query(n % 5 === 0 ? "rollback" : "commit");
            if (n % 5 !== 0) kept.push(id);
          }
          await client.end();
        }),
      ),
    );
    await until("all jobs have run", () => runs.size >= kept.length);
    // what was rolled back is not handed out when the claims come there either, nor anything a second time
    const live = async (): Promise<number> => {
      const all = await Promise.all(queues.map((queue) => mill.queues.depth(queue)));
      return all.reduce((sum, { ready, delayed, running }) => sum + ready + delayed + running, 0);
    };
    await until("nothing is left", async () => (await live()) === 0);
    const last = await Promise.all(queues.map((queue) => mill.enqueue(double, { n: 0 }, { queue })));
    await Promise.all(last.map((job) => mill.result(job)));
    kept.push(...last.map(({ id }) => id));
    await until("nothing is left again", async () => (await live()) === 0);
    expect([...runs.keys()].toSorted()).toEqual(kept.toSorted());
    expect(new Set(runs.values())).toEqual(new Set([1]));
  });
});

describe("what does not fit the cells is refused before anything is written", () => {
  const refused = (reason: string) => ({ code: "MR023", reason });

  it("lists that are wrong", async () => {
    const { a, b, c } = cells.urls;
    expect(() => new Millrace({ cells: { a, b: a } })).toThrow(CellError);
    expect(() => new Millrace({ cells: { a, b }, connection: a })).toThrow("exclude each other");
    expect(() => new Millrace({ cells: { A: a, b } })).toThrow('"A" cannot name a cell');
    const same = cells.open({ cells: { a, b: `${a}?application_name=other` } });
    await expect(same.queues.list()).resolves.toBeDefined(); // nothing is placed by a look
    await expect(same.queues.put("nowhere")).rejects.toMatchObject(refused("same"));
    const exchanged = cells.open({ cells: { a: b, b: a, c } });
    await expect(exchanged.enqueue("work", {})).rejects.toMatchObject(refused("name"));

    const change = (by: number): Promise<unknown[]> =>
      cells.dbs.b.sql(
        "update migrations set number = number + $1 where number = (select max(number) from migrations)",
        [by],
      );
    await change(1);
    const newer = cells.open();
    const asked = await newer.enqueue("work", {}).catch((error: unknown) => error);
    await change(-1);
    expect(asked).toMatchObject({ ...refused("release"), cell: "b", remedy: "upgrade millrace" });
  });

  it("ids, transactions and flows of another cell", async () => {
    const mill = cells.open();
    const [ofA, ofB] = [await cells.nameIn("a", mill), await cells.nameIn("b", mill)];
    await mill.queues.put(ofA);
    await mill.queues.put(ofB);
    await expect(mill.jobs.get("z:1")).rejects.toMatchObject(refused("unknown"));
    await expect(mill.jobs.get("1")).rejects.toMatchObject(refused("foreign"));
    const alone = new Millrace({ connection: cells.urls.a, logger: false });
    await expect(alone.jobs.get("a:1")).rejects.toMatchObject(refused("foreign"));
    await alone.close();

    const client = new pg.Client({ connectionString: cells.urls.a });
    await client.connect();
    await client.query("begin");
    await expect(mill.enqueue("work", {}, { queue: ofB, tx: client })).rejects.toMatchObject(refused("foreign"));
    const here = await mill.enqueue("work", {}, { queue: ofA, tx: client, delay: "1h" });
    await client.query("commit"); // the refusal has not spoilt it
    await client.end();
    expect((await mill.jobs.get(here.id))?.job.queue).toBe(ofA);

    const flow = mill.flow();
    flow.add("work", {}, { queue: ofA });
    flow.add("work", {}, { queue: ofB });
    await expect(flow.enqueue()).rejects.toMatchObject(refused("across"));
    await expect(mill.queues.put(ofA, { deadLetterQueue: ofB })).rejects.toMatchObject(refused("across"));
    expect((await mill.jobs.count({ queue: ofB })).ready).toBe(0);
  });
});
