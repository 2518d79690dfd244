import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import type { CallOptions } from "../../src/db/foreign.js";
import type { ConnectionPool } from "../../src/db/queryable.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, recorded } from "../support/steps.js";

const db = useDatabase();

beforeAll(() => db.sql("create table public.orders (n int)"));

const orders = async (): Promise<number[]> =>
  (await db.sql("select n from public.orders order by n")).map((row) => row["n"] as number);

describe("enqueueing in the caller's transaction", () => {
  it("commits with the caller's data, and is seen by nobody before [#106]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("insert into public.orders values (1)");
    const { id } = await db.engine.enqueue({ type: "t", queue }, { tx });
    await db.engine.enqueueMany("t", [1, 2], { queue }, { tx });
    await db.engine.enqueueEach([{ type: "t", queue, delaySeconds: 60 }], { tx });
    expect(await db.engine.get(id)).toBeNull();
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });
    await tx.query("commit");
    expect(await orders()).toContain(1);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 3, delayed: 1 });
    expect(await claimAll(db, queue)).toHaveLength(3);
  });

  it("vanishes with the caller's data on rollback, streamed payload included [#106]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("insert into public.orders values (2)");
    const { id } = await db.engine.enqueue({ type: "t", queue, fingerprint: "f" }, { tx });
    await db.engine.enqueueStream({ type: "t", queue }, 3, [new Uint8Array([1, 2, 3])], { tx });
    await tx.query("rollback");
    expect(await orders()).not.toContain(2);
    expect(await db.engine.get(id)).toBeNull();
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });
    expect(await db.engine.enqueue({ type: "t", queue, fingerprint: "f" })).toMatchObject({ duplicate: false });
  });

  it("vanishes with a savepoint alone [#106]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.enqueue({ type: "t", queue, input: "kept" }, { tx });
    await tx.query("savepoint s");
    await db.engine.enqueue({ type: "t", queue, input: "undone" }, { tx });
    await tx.query("rollback to s");
    await db.engine.enqueue({ type: "t", queue, input: "kept too" }, { tx });
    await tx.query("commit");
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["kept", "kept too"]);
  });

  it("is not lost when others commit and are claimed first [#106]", async () => {
    const queue = await newQueue(db);
    const slow = await db.connect();
    await slow.query("begin");
    await db.engine.enqueue({ type: "t", queue, input: "slow" }, { tx: slow });
    for (let n = 0; n < 3; n += 1) {
      await db.engine.enqueue({ type: "t", queue, input: `quick ${n}` });
      expect((await claimAll(db, queue)).map((job) => job.input)).toEqual([`quick ${n}`]);
    }
    await slow.query("commit");
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["slow"]);
  });
});

describe("without a transaction", () => {
  it("each call commits by itself, whatever becomes of the caller's own [#151]", async () => {
    const queue = await newQueue(db);
    const mine = await db.connect();
    await mine.query("begin");
    await mine.query("insert into public.orders values (3)");
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const other = await db.engine.enqueue({ type: "t", queue });
    expect((await db.engine.get(id))?.job.state).toBe("ready");
    await db.engine.complete(await claimOne(db, queue), "recorded");
    await db.engine.cancel([other.id]);
    await mine.query("rollback");
    expect(await orders()).not.toContain(3);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: "recorded" });
    expect((await jobOf(db, other.id)).state).toBe("cancelled");
  });

  it("a call that fails afterwards does not undo the one before [#151]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    await expect(db.engine.enqueue({ type: "t", queue: "nowhere" })).rejects.toThrow();
    expect((await jobOf(db, id)).state).toBe("ready");
  });

  it("a call of several statements is one transaction of its own: all or nothing [#151]", async () => {
    const queue = await newQueue(db);
    await expect(db.engine.enqueueStream({ type: "t", queue }, 10, [new Uint8Array(4)])).rejects.toMatchObject({
      code: expect.stringMatching(/^MR00[14]$/),
    });
    expect(await claimAll(db, queue)).toEqual([]);
    const { id } = await db.engine.enqueueStream({ type: "t", queue }, 4, [new Uint8Array(4)]);
    expect((await claimOne(db, queue)).id).toBe(id);
  });
});

describe("a transaction passed explicitly", () => {
  /** A pool that must not be touched. */
  const forbidden = {
    query: () => Promise.reject(new Error("the pool was used for a statement")),
    connect: () => Promise.reject(new Error("the pool was used for a connection")),
  } as ConnectionPool;

  /** One call of each kind, on a job that another claim of the same transaction holds. */
  const calls: readonly (readonly [
    string,
    (engine: Engine, queue: string, job: ClaimedJob, call: CallOptions) => Promise<unknown>,
  ])[] = [
    ["enqueue", (engine, queue, _, call) => engine.enqueue({ type: "t", queue }, call)],
    ["enqueueMany", (engine, queue, _, call) => engine.enqueueMany("t", [1, 2], { queue }, call)],
    ["enqueueEach", (engine, queue, _, call) => engine.enqueueEach([{ type: "t", queue }], call)],
    [
      "enqueueStream",
      (engine, queue, _, call) => engine.enqueueStream({ type: "t", queue }, 3, [new Uint8Array(3)], call),
    ],
    ["payloadRead", (engine, _, job, call) => engine.payloadRead(job.id, 0, 10, call)],
    ["claim", (engine, queue, _, call) => engine.claim({ queues: [queue] }, call)],
    ["extend", (engine, _, job, call) => engine.claimExtend([job.token], 30, call)],
    ["start", (engine, _, job, call) => engine.start(job, call)],
    ["complete", (engine, _, job, call) => engine.complete(job, 1, call)],
    ["completeMany", (engine, _, job, call) => engine.completeMany(job.token, [job.id], [1], call)],
    ["fail", (engine, _, job, call) => engine.fail(job, { message: "no" }, call)],
    ["retry", (engine, _, job, call) => engine.retryLater(job, { message: "no" }, 5, call)],
    ["release", (engine, _, job, call) => engine.release(job, 5, call)],
    ["deadLetter", (engine, _, job, call) => engine.deadLetter(job, "default", { message: "no" }, call)],
    ["setVisibility", (engine, _, job, call) => engine.setVisibility(job, 5, call)],
    [
      "settle",
      (engine, queue, job, call) =>
        engine.settle([{ token: job.token, outcome: "succeeded", jobs: [job.id] }], { queues: [queue] }, call),
    ],
    ["cancel", (engine, _, job, call) => engine.cancel([job.id], "why", call)],
    ["cancelWhere", (engine, queue, _, call) => engine.cancelWhere({ queue, type: "t" }, call)],
    ["retry", (engine, queue, _, call) => engine.retry(1, { type: "t", queue }, call)],
    ["failures", (engine, queue, _, call) => engine.failures({ queue }, call)],
    ["failureRetry", (engine, queue, _, call) => engine.failureRetry({ queue }, call)],
    ["replay", (engine, queue, _, call) => engine.replay({ since: new Date(0), queue }, call)],
    ["breakers", (engine, _, __, call) => engine.breakers(call)],
    ["breakerReset", (engine, queue, _, call) => engine.breakerReset({ queue }, call)],
    ["redrive", (engine, queue, _, call) => engine.queueRedrive(queue, {}, call)],
    ["purge", (engine, queue, _, call) => engine.queuePurge(queue, call)],
    ["get", (engine, _, job, call) => engine.get(job.id, call)],
    ["list", (engine, queue, _, call) => engine.list({ queue }, call)],
    ["peek", (engine, queue, _, call) => engine.peek(queue, 5, call)],
    ["depth", (engine, queue, _, call) => engine.queueDepth(queue, call)],
    ["progressPut", (engine, _, job, call) => engine.progressPut(job, { a: 1 }, call)],
    ["progress", (engine, _, job, call) => engine.progress(job.id, call)],
    ["queuePut", (engine, queue, _, call) => engine.queuePut(queue, { priority: 1 }, call)],
    ["queuePause", (engine, queue, _, call) => engine.queuePause(queue, { by: "me" }, call)],
    [
      "queueResume",
      async (engine, queue, _, call) => {
        await engine.queuePause(queue, {}, call);
        await engine.queueResume(queue, {}, call);
      },
    ],
    ["groupPut", (engine, queue, _, call) => engine.groupPut(queue, "g", { weight: 2 }, call)],
    ["groups", (engine, _, __, call) => engine.groups(call)],
    ["pauses", (engine, _, __, call) => engine.pauses(call)],
    ["typePut", (engine, _, __, call) => engine.typePut("t", { priority: 1 }, call)],
    ["cellPut", (engine, _, __, call) => engine.cellPut({ leaseSeconds: 31 }, call)],
    ["maintain", (engine, _, __, call) => engine.maintain(call)],
  ];

  it.each(calls)(
    "is used by %s for all its statements, and nothing else is; a rollback undoes it [#152]",
    async (_, act) => {
      const queue = await newQueue(db);
      await db.engine.enqueue({ type: "t", queue, input: "kept" });
      const job = await claimOne(db, queue, { leaseSeconds: 600 });
      await db.engine.enqueue({ type: "t", queue, input: "waits" });
      const before = await everything(queue);
      const client = await db.connect();
      const tx = recorded(client);
      await client.query("begin");
      await act(new Engine({ pool: forbidden }), queue, job, { tx });
      expect(tx.statements.length).toBeGreaterThan(0);
      expect(tx.statements.join("\n")).not.toMatch(/\b(begin|commit|rollback)\b/i);
      await client.query("rollback");
      await client.end();
      expect(await everything(queue)).toEqual(before);
    },
  );

  it("is not remembered: the next call without it commits by itself [#152]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const inside = await db.engine.enqueue({ type: "t", queue }, { tx });
    const outside = await db.engine.enqueue({ type: "t", queue });
    await tx.query("rollback");
    expect(await db.engine.get(inside.id)).toBeNull();
    expect((await jobOf(db, outside.id)).state).toBe("ready");
  });

  it("keeps a claim that it holds open out of the way of other queues, and of other types of its own", async () => {
    const [queue, other] = [await newQueue(db), await newQueue(db)];
    await db.engine.enqueueMany("t", [1, 2], { queue });
    await claimOne(db, queue);
    await db.engine.enqueue({ type: "new", queue: other }); // lanes that nobody has made yet
    await db.engine.enqueue({ type: "new", queue });
    const tx = await db.connect();
    await tx.query("begin");
    expect(await db.engine.claim({ queues: [queue], limit: 1 }, { tx })).toHaveLength(1);
    expect(await db.engine.claim({ queues: [other], limit: 1 })).toHaveLength(1);
    await db.engine.enqueue({ type: "newer", queue });
    const claimed = await db.engine.claim({ queues: [queue], types: ["newer"], limit: 1 });
    expect(claimed).toMatchObject([{ type: "newer" }]);
    await tx.query("rollback");
    expect(await claimAll(db, queue)).toHaveLength(2);
  });

  /** What a rollback must leave as it was. */
  async function everything(queue: string): Promise<unknown> {
    return {
      jobs: await db.sql("select * from jobs where queue = $1 order by id", [queue]),
      queue: await db.sql("select * from queues where name = $1", [queue]),
    };
  }
});
