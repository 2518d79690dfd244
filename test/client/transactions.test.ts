import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { Millrace } from "../../src/client/with-workers.js";
import type { Engine } from "../../src/db/engine.js";
import { LeaseLostError, QueueNotFoundError } from "../../src/db/errors.js";
import type { CallOptions, Transaction } from "../../src/db/foreign.js";
import { claimIds, claimOne, idsOf, jobOf, stateOf } from "../support/jobs.js";
import { type Connected, libraries } from "../support/libraries.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const { db } = test;

beforeAll(() => db.sql("create table public.orders (n text)"));

/** Calls made with this must not leave the transaction they were given: it has no connection of its own. */
const confined = new Millrace({
  connection: {
    query: () => Promise.reject(new Error("a statement left the transaction")),
    connect: () => Promise.reject(new Error("a connection was opened beside the transaction")),
  } as unknown as pg.Pool,
});

/** Names and characters that a driver could change: in JSON, in placeholders, in names of columns. */
const input = {
  snake_case: { inner_key: [{ deep_key: null }], camelCase: true },
  placeholders: "? ?? $1 :name \\? {a,b} '' -- \"x\"",
  unicode: 'naïve \u{1F409} \u2028 "quoted" \\ \n\t\u0001 עברית',
  numbers: [0, -1.5e-7, 1e21, Number.MAX_SAFE_INTEGER, 5e-324],
  empty: [null, {}, [], "", false],
};
const inputs = [input, null, [], {}, "", "null", "{a,b}", 0, 1e21, false, [[null]], "2026-01-01T00:00:00Z"];
const bytes = Uint8Array.from({ length: 513 }, (_, n) => n % 256);

class Undo extends Error {}

/** Run `work` in a transaction that is rolled back. */
async function undone(library: Connected, work: (tx: Transaction) => Promise<unknown>): Promise<void> {
  const undo = new Undo();
  const transaction = library.transaction(async (tx) => {
    await work(tx);
    throw undo;
  });
  await transaction.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
}

const orders = async (): Promise<string[]> =>
  (await db.sql("select n from public.orders")).map((row) => row["n"] as string);

describe.each(libraries)("a transaction of $name", (library) => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await library.connect(db.url);
  });
  afterAll(() => connected?.close());

  it("keeps a job from everybody until it commits; then it is there as it was given [#117] [#152] [#79]", async () => {
    const queue = await test.queue();
    const order = `order of ${queue}`;
    const expiresAt = new Date("2100-01-02T03:04:05.678Z");
    const id = await connected.transaction(async (tx) => {
      await connected.write(tx, `insert into public.orders values ('${order}')`);
      const made = await confined.enqueue("order", input, {
        queue,
        tx,
        delay: "1h",
        tenant: "tenant's",
        group: "group",
        priority: 3,
        fingerprint: "finger_print",
        headers: { trace_id: "ü", list: [1, null] },
        payload: bytes,
        contentType: "image/png",
        maxAttempts: 7,
        retryDelay: ["1s", "2s"],
        attemptTimeout: "90s",
        expiresAt,
      });
      expect(made).toEqual({ id: expect.stringMatching(/^\d+$/), duplicate: false });
      expect((await confined.jobs.get(made.id, { tx }))?.job).toMatchObject({ state: "delayed", input });
      expect(await confined.enqueue("order", input, { queue, tx, fingerprint: "finger_print" })).toEqual({
        id: made.id,
        duplicate: true,
      });
      expect(await db.engine.get(made.id)).toBeNull();
      expect(await orders()).not.toContain(order);
      return made.id;
    });
    expect(await orders()).toContain(order);
    const job = await jobOf(db, id);
    expect(job).toMatchObject({
      state: "delayed",
      queue,
      tenant: "tenant's",
      group: "group",
      priority: 3,
      fingerprint: "finger_print",
      headers: { trace_id: "ü", list: [1, null] },
      payloadSize: bytes.length,
      contentType: "image/png",
      maxAttempts: 7,
      retry: [1, 2],
      attemptTimeoutSeconds: 90,
      expiresAt,
    });
    expect(job.input).toStrictEqual(input);
    expect(job.runAt.getTime() - job.createdAt.getTime()).toBeGreaterThan(3_500_000);
    expect(new Uint8Array((await db.engine.payloadRead(id))!)).toEqual(bytes);
  });

  it("takes many jobs, as an array and as a stream [#117] [#152] [#79]", async () => {
    const queue = await test.queue();
    async function* stream(): AsyncGenerator {
      for (let n = 0; n < 1001; n += 1) yield { n };
    }
    const made = await connected.transaction(async (tx) => {
      const many = await confined.enqueueMany("many", inputs, { queue, tx, headers: { a: 1 } });
      expect(await confined.enqueueMany("many", [1, 2], { queue, tx, fingerprint: "f" })).toMatchObject([
        { duplicate: false },
        { duplicate: true },
      ]);
      expect(await confined.enqueueMany("streamed", stream(), { queue, tx })).toEqual({ count: 1001 });
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });
      return many;
    });
    const stored = await Promise.all(made.map(({ id }) => jobOf(db, id)));
    expect(stored.map((job) => job.input)).toStrictEqual(inputs);
    expect(stored[0]?.headers).toEqual({ a: 1 });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: inputs.length + 1 + 1001 });
  });

  it("leaves no job and wakes nobody when it is rolled back; wakes workers when it commits [#117]", async () => {
    const queue = await test.queue();
    const listener = await db.connect();
    const woken: string[] = [];
    listener.on("notification", ({ payload }) => woken.push(payload ?? ""));
    await listener.query('listen "millrace:millrace"');
    await undone(connected, async (tx) => {
      await connected.write(tx, `insert into public.orders values ('undone ${queue}')`);
      await confined.enqueue("order", input, { queue, tx, fingerprint: "f", payload: bytes, notify: true });
      await confined.enqueueMany("order", inputs, { queue, tx, notify: true });
      await confined.engine.enqueueStream({ type: "order", queue }, bytes.length, [bytes], { tx });
      expect(await confined.queues.depth(queue, { tx })).toMatchObject({ ready: inputs.length + 2 });
    });
    expect(await orders()).not.toContain(`undone ${queue}`);
    expect(await db.engine.list({ queue })).toEqual([]);
    expect(await claimIds(db, queue)).toEqual([]);
    const { id, duplicate } = await connected.transaction((tx) =>
      confined.enqueue("order", 1, { queue, tx, fingerprint: "f", notify: true }),
    );
    expect(duplicate).toBe(false);
    await until("the notification of the commit", () => woken.includes(queue));
    expect(woken.filter((name) => name === queue)).toEqual([queue]);
    expect(await claimIds(db, queue)).toEqual([id]);
  });

  it("cancels when it commits, not when it is rolled back [#152]", async () => {
    const queue = await test.queue();
    const { id } = await db.engine.enqueue({ type: "t", queue, tenant: "a" });
    const cancelIn = async (tx: Transaction): Promise<void> => {
      expect(await confined.cancel(id, { tx, because: "it's over" })).toBe(true);
      expect((await confined.jobs.get(id, { tx }))?.job.state).toBe("cancelled");
      expect(await stateOf(db, id)).toBe("ready");
    };
    await undone(connected, cancelIn);
    expect(await stateOf(db, id)).toBe("ready");
    await undone(connected, async (tx) => expect(await confined.jobs.cancel({ queue, tenant: "a" }, { tx })).toBe(1));
    await connected.transaction(cancelIn);
    expect(await stateOf(db, id)).toBe("cancelled");
  });

  it("completes when it commits, not when it is rolled back, and not what it no longer holds [#152] [#79]", async () => {
    const queue = await test.queue();
    const { id } = await db.engine.enqueue({ type: "t", queue, input });
    const job = await claimOne(db, queue, { leaseSeconds: 600 });
    await undone(connected, async (tx) => {
      await confined.engine.complete(job, { result: input }, { tx });
      expect((await confined.jobs.get(id, { tx }))?.job).toMatchObject({
        state: "succeeded",
        result: { result: input },
      });
      expect(await stateOf(db, id)).toBe("running");
    });
    expect(await stateOf(db, id)).toBe("running");
    await connected.transaction((tx) => confined.engine.complete(job, { result: input }, { tx }));
    expect((await jobOf(db, id)).result).toStrictEqual({ result: input });
    const late = connected.transaction((tx) => confined.engine.complete(job, "again", { tx }));
    await expect(late).rejects.toThrow(LeaseLostError);
    await expect(late).rejects.toMatchObject({ jobIds: [id] });
  });

  it("makes a handler's writes and its job's end visible together, or neither [#93] [#152]", async () => {
    const queue = await test.queue();
    const order = defineJob<{ n: string }, { charged: string }>("order", { retryDelay: 0 });
    const worker = test.worker(queue);
    const seen: unknown[] = [];
    worker.handle(order, (job) =>
      connected.transaction(async (tx) => {
        await connected.write(tx, `insert into public.orders values ('${job.input.n}')`);
        const result = await job.complete({ charged: job.input.n }, { tx });
        seen.push(await stateOf(db, job.id), await orders());
        if (job.attempt === 1) throw new Undo("after completing");
        return result;
      }),
    );
    const n = `charged in ${queue}`;
    const { id } = await db.engine.enqueue({ type: "order", queue, input: { n }, retry: 0, maxAttempts: 2 });
    await worker.start();
    await until("the end of the second attempt", async () => /succeeded|failed/.test(await stateOf(db, id)));
    await worker.stop();
    expect(seen).toEqual(["running", expect.not.arrayContaining([n]), "running", expect.not.arrayContaining([n])]);
    expect((await orders()).filter((one) => one === n)).toEqual([n]);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: { charged: n }, attempts: 2 });
  });

  it("answers every question as a connection of the engine does [#152]", async () => {
    const queue = await test.queue({ maxAttempts: 3 });
    const [first, second] = await db.engine.enqueueEach([
      { type: "t", queue, input, headers: { a_b: 1 }, payload: bytes, tenant: "a", attemptTimeoutSeconds: 1.5 },
      { type: "t", queue, deadline: new Date("2100-01-01T00:00:00.123Z"), maxAttempts: Infinity },
    ]);
    const job = await claimOne(db, queue, { leaseSeconds: 600, worker: "w" });
    await db.engine.progressPut(job, { half_done: 0.5 });
    await db.engine.cancel([second!.id], "why");
    const questions: readonly ((engine: Engine, call?: CallOptions) => Promise<unknown>)[] = [
      (engine, call) => engine.get(first!.id, call),
      (engine, call) => engine.get("1", call),
      (engine, call) => engine.list({ queue, since: new Date(0), limit: 5 }, call),
      (engine, call) => engine.peek(queue, 5, call),
      (engine, call) => engine.outcomes(idsOf([first!, second!]), call),
      (engine, call) => engine.progress(first!.id, call),
      (engine, call) => engine.progress(second!.id, call),
      async (engine, call) => ({ ...(await engine.queueDepth(queue, call)), oldestAgeSeconds: 0 }),
      async (engine, call) => (await engine.queues(call)).filter(({ name }) => name === queue),
      async (engine, call) => [...((await engine.payloadRead(first!.id, 1, 600, call)) ?? [])],
      (engine, call) => engine.payloadRead(second!.id, 0, 10, call),
    ];
    await connected.transaction(async (tx) => {
      for (const ask of questions) expect(await ask(confined.engine, { tx })).toStrictEqual(await ask(db.engine));
    });
  });

  it("does the rest of the work on a queue, and undoes it [#152]", async () => {
    const queue = await test.queue();
    await db.engine.enqueue({ type: "t", queue, input: "stays" });
    const before = await db.sql("select * from jobs where queue = $1", [queue]);
    await undone(connected, async (tx) => {
      const { engine, queues } = confined;
      await confined.enqueueMany("t", inputs, { queue, tx });
      const jobs = await engine.claim({ queues: [queue], types: ["t"], limit: 100, leaseSeconds: 60 }, { tx });
      expect(jobs.map((job) => job.input)).toStrictEqual(["stays", ...inputs]);
      const [a, b, c, d, ...rest] = jobs;
      expect((await engine.claimExtend([a!.token], 90, { tx })).get(a!.token)?.jobIds).toEqual(idsOf(jobs));
      expect((await engine.setVisibility(a!, 300, { tx })).getTime() - a!.claimedAt.getTime()).toBeGreaterThan(200_000);
      await engine.progressPut(a!, { of: 1 }, { tx });
      await engine.fail(a!, { message: "no\0" }, { tx });
      await engine.retryLater(b!, { message: "later" }, 60, { tx });
      await engine.release(c!, 0, { tx });
      await engine.deadLetter(d!, "default", { message: "no" }, { tx });
      expect(await engine.completeMany(rest[0]!.token, idsOf(rest), undefined, { tx })).toEqual([]);
      expect(await engine.completeMany(rest[0]!.token, idsOf(rest), undefined, { tx })).toEqual(idsOf(rest));
      expect(await confined.retry(a!, { tx })).toBe(true);
      await queues.pause(queue, { by: "me", because: "it's late" }, { tx });
      expect((await queues.list({ tx })).find(({ name }) => name === queue)).toMatchObject({
        pausedBy: "me",
        pausedBecause: "it's late",
      });
      await queues.resume(queue, {}, { tx });
      await queues.put(queue, { priority: 1, retryDelay: ["1s", "2s"] }, { tx });
      expect(await queues.purge(queue, { tx })).toBeGreaterThan(0);
    });
    expect(await db.sql("select * from jobs where queue = $1", [queue])).toEqual(before);
  });

  it("is not remembered: the next call without it commits by itself [#151]", async () => {
    const queue = await test.queue();
    const ids: string[] = [];
    await undone(connected, async (tx) => {
      ids.push((await test.mill.enqueue("t", 1, { queue, tx })).id, (await test.mill.enqueue("t", 2, { queue })).id);
    });
    expect(await claimIds(db, queue)).toEqual([ids[1]]);
  });

  it("gives the engine's own errors, with what the server said and nothing else", async () => {
    const refused = connected.transaction((tx) =>
      confined.enqueue("t", { secret: "s3cret" }, { queue: "nowhere", tx }),
    );
    await expect(refused).rejects.toThrow(QueueNotFoundError);
    const outside = await db.engine
      .enqueue({ type: "t", queue: "nowhere" })
      .catch((error: unknown) => error as QueueNotFoundError);
    await expect(refused).rejects.toMatchObject({
      message: (outside as QueueNotFoundError).message,
      remedy: (outside as QueueNotFoundError).remedy,
    });
  });

  it("is told from the whole database, where every statement would commit by itself [#152]", async () => {
    const queue = await test.queue();
    await expect(confined.enqueue("t", 1, { queue, tx: connected.database as never })).rejects.toMatchObject({
      code: "MR001",
      message: expect.stringContaining("not a transaction"),
    });
    expect(await db.engine.list({ queue })).toEqual([]);
  });

  it("may hold another one that is undone alone [#152]", async ({ skip }) => {
    const nested = connected.nested?.bind(connected);
    if (!nested) return skip("this library has no savepoints");
    const queue = await test.queue();
    await connected.transaction(async (tx) => {
      await confined.enqueue("t", "kept", { queue, tx });
      const inner = nested(tx, async (inside) => {
        await confined.enqueue("t", "undone", { queue, tx: inside });
        throw new Undo();
      });
      await expect(inner).rejects.toThrow(Undo);
      await confined.enqueue("t", "kept too", { queue, tx });
    });
    expect((await db.engine.claim({ queues: [queue], limit: 10 })).map((job) => job.input)).toEqual([
      "kept",
      "kept too",
    ]);
  });
});

it.each([
  ["a number", 1],
  ["a string", "tx"],
  ["an empty object", {}],
  ["a function", () => {}],
  ["a promise", Promise.resolve()],
])("%s is no transaction, and is refused before anything is sent [#152]", async (_, tx) => {
  await expect(confined.enqueue("t", 1, { tx: tx as never })).rejects.toMatchObject({
    code: "MR001",
    message: expect.stringContaining("tx is not a transaction"),
  });
});
