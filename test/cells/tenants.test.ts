import pg from "pg";
import { describe, expect, it } from "vitest";
import { moveQueue, planMove } from "../../src/cells/move.js";
import type { Millrace } from "../../src/client/with-workers.js";
import { DatabaseUnavailableError, PartlyEnqueuedError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import { useCellMills } from "../support/cell-mills.js";
import { countTransactions } from "../support/count-transactions.js";
import { startProxy } from "../support/proxy.js";

const cells = useCellMills();
const double = defineJob<{ n: number }, number>("double");
const names = ["a", "b", "c"] as const;
const tenants = Array.from({ length: 24 }, (_, n) => `tenant-${n}`);

let made = 0;
const newName = (): string => `spread-${(made += 1)}`;

/** A queue over all cells. */
async function newSpread(mill: Millrace): Promise<string> {
  const queue = newName();
  await mill.queues.put(queue, { spread: "tenant" });
  return queue;
}

const placesOf = (mill: Millrace, queue: string): Promise<string[]> =>
  Promise.all(tenants.map((tenant) => mill.cells!.whereIs(queue, tenant)));

/** The tenants that each cell says it has. */
async function placed(queue: string): Promise<Record<string, readonly string[]>> {
  const found = names.map(async (cell) => [cell, await cells.dbs[cell].engine.tenantsHere(queue, tenants)] as const);
  return Object.fromEntries(await Promise.all(found));
}

describe("tenants of a spread queue", () => {
  it("[#226] have one cell for every process, also after one more cell has come", async () => {
    const { a, b } = cells.urls;
    const old = cells.open({ cells: { a, b } });
    const queue = await newSpread(old);
    await old.queues.put(queue, { priority: 3, groupMaxRunning: 7 });
    await old.queues.groupPut(queue, "g", { weight: 3 });
    await old.queues.pause(queue, { group: "g", because: "asked" });
    const early = tenants.slice(0, 12);
    for (const tenant of early) await old.enqueue(double, { n: 1 }, { queue, tenant });
    const before = (await placesOf(old, queue)).slice(0, 12);
    expect(new Set(before)).toEqual(new Set(["a", "b"]));

    const late = cells.open();
    expect((await placesOf(late, queue)).slice(0, 12)).toEqual(before);
    await late.cells!.add("c");
    for (const mill of [late, cells.open()]) expect((await placesOf(mill, queue)).slice(0, 12)).toEqual(before);
    // the new cell has the queue as the others have it, and takes new tenants
    const [here] = await cells.dbs.c.engine.queues().then((all) => all.filter(({ name }) => name === queue));
    expect(here!.options).toEqual({ spread: "tenant", priority: 3, groupMaxRunning: 7 });
    expect((await cells.dbs.c.engine.groups()).filter((one) => one.queue === queue)).toMatchObject([{ weight: 3 }]);
    expect(await cells.dbs.c.engine.pauses()).toMatchObject([{ queue, group: "g", pausedBecause: "asked" }]);
    const jobs = await Promise.all(tenants.map((tenant) => late.enqueue(double, { n: 1 }, { queue, tenant })));
    const places = await placesOf(cells.open(), queue);
    expect(jobs.map(({ id }) => id.split(":")[0])).toEqual(places);
    expect(new Set(places)).toEqual(new Set(names));
    const found = await placed(queue);
    for (const [n, tenant] of tenants.entries())
      expect(names.filter((cell) => found[cell]!.includes(tenant))).toEqual([places[n]]);
    // a process that does not have the new cell gives its tenants no other place
    const ofC = tenants[places.indexOf("c")]!;
    const enqueue = (tenant: string): Promise<unknown> => old.enqueue(double, { n: 1 }, { queue, tenant });
    await expect(enqueue(ofC)).rejects.toMatchObject({ code: "MR023", reason: "unknown", cell: "c" });
  });

  it("[#230] of the other cells go on while one is down, for processes that begin meanwhile too", async () => {
    const mill = cells.open();
    const queue = await newSpread(mill);
    for (const tenant of tenants) await mill.enqueue(double, { n: 0 }, { queue, tenant, delay: "1h" });
    const places = await placesOf(mill, queue);
    const ofB = tenants[places.indexOf("b")]!;
    const others = tenants.filter((_, n) => places[n] !== "b");
    const proxy = await startProxy(cells.urls.b);
    const list = { ...cells.urls, b: { connectionString: proxy.url, connectionTimeoutMillis: 2000 } };
    proxy.cut();
    const late = cells.open({ cells: list });
    const worker = cells.worker(late, [queue]);
    worker.handle(double, async (job) => job.input.n * 2);
    await worker.start();
    for (const tenant of others) {
      const job = await late.enqueue(double, { n: 2 }, { queue, tenant });
      expect(await late.result(job, { timeout: "30s" })).toBe(4);
    }
    const failure: unknown = await late
      .enqueue(double, { n: 2 }, { queue, tenant: ofB })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DatabaseUnavailableError);
    expect(String(failure)).toContain('cell "b"');
    // what is set for the queue is changed in all cells, or in none
    await expect(late.queues.put(queue, { priority: 2 })).rejects.toThrow(DatabaseUnavailableError);
    const all = await cells.dbs.a.engine.queues();
    expect(all.find(({ name }) => name === queue)!.options).toEqual({ spread: "tenant" });
    const { answer, missing } = await late.cells!.partial(() => late.queues.depth(queue));
    expect([answer.delayed, missing.map(({ cell }) => cell)]).toEqual([others.length, ["b"]]);
    proxy.mend();
    const back = await late.enqueue(double, { n: 4 }, { queue, tenant: ofB });
    expect(await late.result(back, { timeout: "30s" })).toBe(8);
  });
});

describe("a spread queue", () => {
  it("splits a list by cell, and tells which jobs are in when a cell fails", async () => {
    const proxy = await startProxy(cells.urls.b);
    const mill = cells.open({
      cells: { ...cells.urls, b: { connectionString: proxy.url, connectionTimeoutMillis: 2000 } },
    });
    const queue = await newSpread(mill);
    const jobs = tenants.map((tenant, n) => ({ type: "double", input: { n }, queue, tenant }));
    const made = await mill.engine.enqueueEach(jobs);
    const places = await placesOf(mill, queue);
    expect(made.map(({ id }) => id.split(":")[0])).toEqual(places);
    for (const [n, { id }] of made.entries()) expect((await mill.jobs.get(id))!.job.tenant).toBe(tenants[n]);

    proxy.cut();
    const failure: unknown = await mill.engine.enqueueEach(jobs).catch((error: unknown) => error);
    proxy.mend();
    expect(failure).toBeInstanceOf(PartlyEnqueuedError);
    expect(failure).toMatchObject({ code: "MR023", reason: "partly" });
    const { enqueued } = failure as PartlyEnqueuedError;
    expect(enqueued.map((one) => one?.id.split(":")[0])).toEqual(
      places.map((place) => (place === "b" ? undefined : place)),
    );
    expect((await mill.queues.depth(queue)).ready).toBe(
      2 * tenants.length - places.filter((one) => one === "b").length,
    );

    const client = new pg.Client({ connectionString: cells.urls.a });
    await client.connect();
    await client.query("begin");
    await expect(mill.engine.enqueueEach(jobs, { tx: client })).rejects.toMatchObject({ reason: "across" });
    const ofA = jobs.filter((_, n) => places[n] === "a");
    expect(await mill.engine.enqueueEach(ofA, { tx: client })).toHaveLength(ofA.length);
    await expect(mill.queues.pause(queue, {}, { tx: client })).rejects.toMatchObject({ reason: "across" });
    await expect(mill.queues.depth(queue, { tx: client })).rejects.toMatchObject({ reason: "across" });
    await client.query("rollback");
    await client.end();
  });

  it("is set, paused, closed and emptied in all cells, and counted as their sum", async () => {
    const mill = cells.open();
    const queue = await newSpread(mill);
    const inEach = async <R>(ask: (engine: Millrace["engine"]) => Promise<R>): Promise<R[]> =>
      Promise.all(names.map((cell) => ask(cells.dbs[cell].engine)));
    const record = async (engine: Millrace["engine"]): Promise<unknown> => {
      const found = (await engine.queues()).find(({ name }) => name === queue)!;
      return { options: found.options, state: found.state };
    };
    await mill.queues.put(queue, { groupMaxRunning: 2 });
    for (const tenant of tenants)
      await mill.enqueue(double, { n: 1 }, { queue, tenant, group: "g", fingerprint: `f-${tenant}` });
    const depths = await inEach((engine) => engine.queueDepth(queue));
    expect(Math.min(...depths.map(({ ready }) => ready))).toBeGreaterThan(0);
    expect((await mill.queues.depth(queue)).ready).toBe(tenants.length);
    expect((await mill.jobs.count({ queue })).ready).toBe(tenants.length);
    expect(await mill.jobs.list({ queue })).toHaveLength(tenants.length);
    expect(await mill.queues.groups(queue)).toMatchObject([{ group: "g", waiting: tenants.length }]);
    const [shown] = (await mill.queues.list()).filter(({ name }) => name === queue);
    expect(shown).toMatchObject({ waiting: tenants.length, ready: tenants.length, cell: "a, b, c" });
    const last = await mill.engine.jobOf(queue, `f-${tenants.at(-1)!}`);
    expect((await mill.jobs.get(last!))!.job.tenant).toBe(tenants.at(-1));

    await mill.queues.pause(queue, { because: "asked" });
    const options = { spread: "tenant", groupMaxRunning: 2 };
    expect(await inEach(record)).toEqual(names.map(() => ({ options, state: "paused" })));
    expect((await mill.queues.pauses()).filter((one) => one.queue === queue)).toHaveLength(1);
    const reasons = await mill.queues.why(queue);
    expect(reasons.filter(({ code }) => code === "paused")).toMatchObject([{ jobs: tenants.length }]);
    // one that was broken off in between is done by doing it again; done by all, it is refused
    await cells.dbs.b.engine.queueResume(queue);
    await mill.queues.resume(queue);
    await expect(mill.queues.resume(queue)).rejects.toMatchObject({ code: "MR001" });
    await cells.dbs.c.engine.queueClose(queue);
    await mill.queues.close(queue);
    await expect(mill.queues.close(queue)).rejects.toMatchObject({ code: "MR014" });
    expect(await inEach(record)).toEqual(names.map(() => ({ options, state: "closed" })));
    await mill.queues.open(queue);
    expect(await mill.queues.purge(queue)).toBe(tenants.length);
    expect((await mill.queues.depth(queue)).ready).toBe(0);
    for (const tenant of tenants) await mill.enqueue(double, { n: 1 }, { queue, tenant });
    let dropped = 0;
    let steps = 0;
    for (let next: object | null = {}; next; steps += 1) {
      const step = await mill.engine.queuePurgeStep(queue, next);
      dropped += step.jobs;
      next = step.next;
    }
    expect([dropped, steps]).toEqual([tenants.length, 3]);

    await mill.queues.close(queue);
    for (const cell of ["a", "b"] as const) await cells.dbs[cell].engine.maintain();
    const stateOf = async (): Promise<unknown> => (await mill.queues.list()).find(({ name }) => name === queue)!.state;
    expect(await stateOf()).toBe("closed"); // it has finished in two of three
    await cells.dbs.c.engine.maintain();
    expect(await stateOf()).toBe("finished");
  });

  it("changes in the same order in all cells, whoever changes it at the same time", async () => {
    const mills = Array.from({ length: 4 }, () => cells.open());
    const queue = await newSpread(mills[0]!);
    await Promise.all(
      mills.flatMap((mill, at) =>
        Array.from({ length: 5 }, (_, n) => mill.queues.put(queue, { groupMaxRunning: 1 + at * 5 + n })),
      ),
    );
    const set = await Promise.all(names.map((cell) => cells.dbs[cell].engine.queues()));
    const options = set.map((queues) => JSON.stringify(queues.find(({ name }) => name === queue)!.options));
    expect(new Set(options).size).toBe(1);
  });

  it("refuses what it cannot keep, before anything is written", async () => {
    const mill = cells.open();
    const queue = await newSpread(mill);
    const wrong = { code: "MR001" };
    await expect(mill.enqueue(double, { n: 1 }, { queue })).rejects.toMatchObject(wrong);
    await expect(mill.enqueue(double, { n: 1 }, { queue, group: "acme" })).rejects.toThrow('give the option "tenant"');
    await expect(mill.enqueueMany(double, [{ n: 1 }], { queue })).rejects.toMatchObject(wrong);
    await expect(mill.enqueue(double, { n: 1 }, { queue, tenant: "" })).rejects.toMatchObject(wrong);
    await expect(
      mill.engine.enqueueEach([
        { type: "double", queue, tenant: "x" },
        { type: "double", queue },
      ]),
    )
      .rejects //
      .toMatchObject(wrong);
    await expect(mill.cells!.whereIs(queue)).rejects.toMatchObject(wrong);
    for (const cell of names) {
      expect(await cells.dbs[cell].engine.tenantsHere(queue, ["x"])).toEqual([]);
      // who has only this cell cannot tell where a tenant belongs
      const here = { type: "double", queue, tenant: "nobody" };
      await expect(cells.dbs[cell].engine.enqueue(here)).rejects.toMatchObject({ code: "MR023", reason: "foreign" });
      await expect(cells.dbs[cell].engine.enqueue({ type: "double", queue })).rejects.toMatchObject(wrong);
    }
    for (const options of [
      { maxRunning: 5 },
      { rate: { perSecond: 1 } },
      { onFailure: "pause" as const },
      { finalStages: ["s"] },
      { waitsFor: ["default"] },
      { deadLetterQueue: "default" },
      { spread: null },
    ])
      await expect(mill.queues.put(queue, options)).rejects.toMatchObject({ code: "MR001" });
    expect((await mill.queues.list()).find(({ name }) => name === queue)!.options).toEqual({ spread: "tenant" });

    const plain = newName();
    await mill.queues.put(plain);
    await expect(mill.queues.put(plain, { spread: "tenant" })).rejects.toThrow("cannot be changed");
    await expect(mill.queues.put(plain, { waitsFor: [queue] })).rejects.toMatchObject(wrong);
    for (const cell of names) {
      const known = (await cells.dbs[cell].engine.queues()).filter(({ name }) => name === plain);
      expect(known.map(({ options }) => options)).toEqual((await mill.cells!.whereIs(plain)) === cell ? [{}] : []);
    }

    const engines = new Map(names.map((cell) => [cell, cells.dbs[cell].engine]));
    for (const from of ["a", "b"])
      await expect(moveQueue(engines, queue, "c", { from })).rejects.toMatchObject({ code: "MR032", reason: "spread" });
    await expect(moveQueue(engines, queue, "c")).rejects.toMatchObject({ code: "MR032", reason: "spread" });
    await expect(planMove(engines, queue, "c")).rejects.toMatchObject({ code: "MR032", reason: "spread" });
    expect((await engines.get("a")!.moves.settings(queue)).against).toMatchObject([{ reason: "spread" }]);
    await expect(engines.get("a")!.moves.leave(queue, "b", 1, undefined)).rejects.toMatchObject({ reason: "spread" });

    const flow = mill.flow();
    const places = await placesOf(mill, queue);
    flow.add(double, { n: 1 }, { queue, tenant: tenants[places.indexOf("a")]! });
    flow.add(double, { n: 1 }, { queue, tenant: tenants[places.indexOf("b")]! });
    await expect(flow.enqueue()).rejects.toMatchObject({ reason: "across" });
    expect((await mill.jobs.count({ queue })).ready).toBe(0);
  });

  it("has flows, schedules and dead letters of a tenant in the tenant's cell", async () => {
    const mill = cells.open();
    const [queue, dead] = [await newSpread(mill), await newSpread(mill)];
    await mill.queues.put(queue, { deadLetterQueue: dead, maxAttempts: 1 });
    const worker = cells.worker(mill, [queue]);
    worker.handle(double, async (job) => {
      if (job.input.n < 0) throw new Error("never");
      return job.input.n * 2;
    });
    await worker.start();
    for (const tenant of tenants.slice(0, 6)) {
      const place = await mill.cells!.whereIs(queue, tenant);
      const flow = mill.flow();
      const first = flow.add(double, { n: 1 }, { queue, tenant });
      flow.add(double, { n: 2 }, { queue, tenant, after: [first] });
      const stored = await flow.enqueue();
      expect(stored.id.split(":")[0]).toBe(place);
      const failed = await mill.enqueue(double, { n: -1 }, { queue, tenant });
      await expect(mill.result(failed, { timeout: "30s" })).rejects.toThrow("never");
      await mill.schedule(`of-${queue}-${tenant}`, { every: "1h" }, double, { n: 3 }, { queue, tenant });
      const [schedule] = await mill.engine.schedules.list({ name: `of-${queue}-${tenant}` });
      expect(schedule!.cell).toBe(place);
    }
    const letters = await mill.jobs.list({ queue: dead });
    expect(new Set(letters.map(({ tenant }) => tenant))).toEqual(new Set(tenants.slice(0, 6)));
    expect(letters).toHaveLength(6);
    expect(await mill.queues.redrive(dead)).toBe(6);
  });
});

it("[#225] a queue that is not spread costs no statement more", async () => {
  const ways = await Promise.all(names.map((cell) => countTransactions(cells.urls[cell])));
  const urls = Object.fromEntries(names.map((cell, n) => [cell, ways[n]!.url]));
  const total = (): number => ways.reduce((sum, way) => sum + way.transactions(), 0);
  const cost = async (work: () => Promise<unknown>): Promise<number> => {
    const before = total();
    await work();
    return total() - before;
  };
  const setUp = cells.open();
  const [plain, queue] = [newName(), await newSpread(setUp)];
  await setUp.queues.put(plain);
  const { engine } = cells.open({ cells: urls });
  await engine.check(); // the list of cells
  // the first enqueue asks where the queue is: as many homes as lists have given it to, the last of which has it
  const first = await cost(() => engine.enqueue({ type: "double", queue: plain, tenant: "t" }));
  expect(first).toBeLessThanOrEqual(3);
  expect(await cost(() => engine.enqueue({ type: "double", queue: plain, tenant: "u" }))).toBe(1);
  expect(await cost(() => engine.enqueueMany("double", [1, 2, 3], { queue: plain }))).toBe(1);
  const each = tenants.map((tenant) => ({ type: "double", queue: plain, tenant }));
  expect(await cost(() => engine.enqueueEach(each))).toBe(1);
  // a tenant of a spread queue is asked for once, and those of a list with one question for each home and cell
  await engine.enqueue({ type: "double", queue, tenant: "t" });
  expect(await cost(() => engine.enqueue({ type: "double", queue, tenant: "t" }))).toBe(1);
  const spread = each.map((job) => ({ ...job, queue }));
  await engine.enqueueEach(spread);
  expect(await cost(() => engine.enqueueEach(spread))).toBe(3);
});
