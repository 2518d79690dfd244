import { describe, expect, it } from "vitest";
import { type AnyJobDefinition, defineJob } from "../../src/job/define-job.js";
import type { EnqueueCallOptions } from "../../src/client/millrace.js";
import type { Engine } from "../../src/db/engine.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, queueNotFound } from "../support/steps.js";

const test = useMill();
const work = defineJob("work");

describe("an enqueue", () => {
  it("makes one job each, with an id above 2^53 that grows, found by it with all that happened [#2 #43 #58 #173]", async () => {
    const queue = await test.queue();
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push((await test.mill.enqueue(work, { n }, { queue })).id);
    expect(new Set(ids).size).toBe(20);
    expect(ids.map(BigInt)).toEqual(ids.map(BigInt).toSorted((a, b) => (a < b ? -1 : 1)));
    for (const [n, id] of ids.entries()) {
      expect(BigInt(id)).toBeGreaterThan(2n ** 53n);
      const { job, attempts } = (await test.mill.jobs.get(id))!;
      expect(job).toMatchObject({
        id,
        input: { n },
        state: "ready",
        attempts: 0,
        worker: null,
        lastAttemptAt: null,
        lastError: null,
        finishedAt: null,
      });
      expect(job.updatedAt.getTime()).toBeGreaterThanOrEqual(job.createdAt.getTime());
      expect(attempts).toEqual([]);
    }
    expect(await test.mill.jobs.list({ queue, limit: 100 })).toHaveLength(20);
    expect((await test.mill.jobs.peek(queue)).map((job) => job.id)).toEqual(ids.slice(0, 10));
    expect(await test.mill.jobs.get("1")).toBeNull();
  });

  it("gives the handler what it was given: nested, unicode, null, empty, numbers as text [#79 #114]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, ({ input }) => ({ input }))
      .start();
    const inputs: unknown[] = [
      {
        deep: [[[{ ä: '日本 🎉 \u2028 "quoted" \\ \n' }]]],
        big: "123456789012345678901234567890",
        none: null,
        empty: {},
        list: [],
      },
      null,
      {},
      [],
      "",
      0,
      -1.5e-300,
      true,
      { __proto__: null, constructor: 1, "~standard": 2, "": 3 },
    ];
    for (const input of inputs)
      expect(await test.mill.result(await test.mill.enqueue(work, input, { queue }))).toEqual({ input });
    expect(await test.mill.result(await test.mill.enqueue(work, undefined, { queue }))).toEqual({ input: null });
  });

  it("carries bytes as they are, small and large [#46]", async () => {
    const queue = await test.queue();
    const large = new Uint8Array(300_000).map((_, i) => (i * 7919) % 256);
    await test
      .worker(queue)
      .handle(work, async (job) => {
        const whole = await job.payloadBytes();
        const pieces: Uint8Array[] = [];
        for await (const piece of job.payloadStream()) pieces.push(piece);
        expect(Buffer.concat(pieces).equals(whole ?? new Uint8Array())).toBe(true);
        return {
          inline: job.payload !== undefined,
          size: whole?.length ?? null,
          same: whole && Buffer.from(whole).equals(whole.length > 9 ? large : small),
          type: job.contentType ?? null,
        };
      })
      .start();
    const small = new Uint8Array([0, 0xff, 0xfe, 0xc3, 0x28, 0]);
    const send = async (options: EnqueueCallOptions) =>
      test.mill.result(await test.mill.enqueue(work, null, { queue, ...options }));
    expect(await send({ payload: small, contentType: "image/png" })).toEqual({
      inline: true,
      size: 6,
      same: true,
      type: "image/png",
    });
    expect(await send({ payload: large })).toEqual({ inline: false, size: 300_000, same: true, type: null });
    expect(await send({})).toEqual({ inline: false, size: null, same: null, type: null });
  });

  it("stores the tenant, gives it to the handler, and lists and cancels by it [#44]", async () => {
    const queue = await test.queue();
    await test.mill.enqueueMany(work, [1, 2, 3], {
      queue,
      tenant: "acme",
      group: "g",
      headers: { h: [1] },
      delay: "1h",
    });
    const { id } = await test.mill.enqueue(work, 4, { queue, tenant: "other", group: "g", headers: { h: [1] } });
    expect(await test.mill.jobs.list({ tenant: "acme" })).toMatchObject(
      [3, 2, 1].map((input) => ({ input, tenant: "acme", group: "g", state: "delayed" })),
    );
    expect(await test.mill.jobs.cancel({ tenant: "acme" })).toBe(3);
    await test
      .worker(queue)
      .handle(work, ({ tenant, group, headers, input }) => ({
        tenant: tenant!,
        group: group!,
        headers: headers!,
        input,
      }))
      .start();
    expect(await test.mill.result(id)).toEqual({ tenant: "other", group: "g", headers: { h: [1] }, input: 4 });
  });

  it("with a fingerprint that is taken returns the first one's id [#58]", async () => {
    const queue = await test.queue();
    const one = await test.mill.enqueue(work, 1, { queue, fingerprint: "f" });
    expect(await test.mill.enqueue(work, 2, { queue, fingerprint: "f" })).toEqual({ id: one.id, duplicate: true });
    expect(one.duplicate).toBe(false);
  });
});

describe("transactions", () => {
  it("are never implied: a call without one commits by itself, whatever becomes of the caller's [#151]", async () => {
    const queue = await test.queue();
    const client = await test.db.connect();
    await client.query("begin");
    const { id } = await test.mill.enqueue(work, null, { queue });
    await client.query("rollback");
    expect((await test.mill.jobs.get(id))!.job.state).toBe("ready");
  });

  it("given explicitly carry every statement of every call, and nothing else does [#152 #58]", async () => {
    const queue = await test.queue();
    const nowhere = new URL(test.db.url);
    nowhere.port = "1";
    const mill = test.open({ connection: nowhere.href }); // has no connection of its own
    const tx = await test.db.connect();
    await tx.query("begin");
    const { id } = await mill.enqueue(work, { n: 1 }, { queue, tx, notify: true, payload: new Uint8Array(10) });
    const [many] = await mill.enqueueMany(work, [1, 2], { queue, tx });
    async function* inputs() {
      yield 3;
    }
    expect(await mill.enqueueMany(work, inputs(), { queue, tx })).toEqual({ count: 1 });
    expect(await mill.jobs.get(id, { tx })).toMatchObject({ job: { id, input: { n: 1 } } });
    expect(await mill.jobs.list({ queue }, { tx })).toHaveLength(4);
    expect(await mill.jobs.progress(id, { tx })).toBeNull();
    expect(await mill.cancel(many!, { tx, because: "no" })).toBe(true);
    expect(await mill.retry(many!, { tx })).toBe(false);
    expect(await mill.jobs.cancel({ queue, type: "nothing" }, { tx })).toBe(0);
    expect(await mill.jobs.retry({ ids: [id] }, 1, { tx })).toBe(0);
    await mill.queues.put(queue, { maxAttempts: 5 }, { tx });
    await mill.queues.pause(queue, { by: "us" }, { tx });
    await mill.queues.resume(queue, {}, { tx });
    expect((await mill.queues.list({ tx })).find((one) => one.name === queue)).toMatchObject({ state: "active" });
    expect(await mill.queues.depth(queue, { tx })).toMatchObject({ ready: 3 });
    expect(await test.mill.jobs.get(id)).toBeNull();
    await tx.query("rollback");
    expect(await test.mill.jobs.list({ queue })).toEqual([]);
    await expect(mill.enqueue(work, null, { queue })).rejects.toMatchObject({ code: "MR009" });
  });

  it("are refused when what was given is none, or its name is misspelt [#152]", async () => {
    const queue = await test.queue();
    const tx = await test.db.connect();
    await expect(test.mill.enqueue(work, null, { queue, tx: {} as never })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.enqueue(work, null, { queue, tx: test.mill as never })).rejects.toMatchObject(
      invalidArgument,
    );
    const typo = { txn: tx } as object;
    const { id } = await test.mill.enqueue(work, null, { queue });
    for (const call of [
      () => test.mill.enqueue(work, null, { queue, ...typo }),
      () => test.mill.enqueueMany(work, [null], { queue, ...typo }),
      () => test.mill.cancel(id, typo),
      () => test.mill.retry(id, typo),
      () => test.mill.jobs.cancel({ queue }, typo),
      () => test.mill.queues.purge(queue, typo),
      () => test.mill.jobs.get(id, typo),
      () => test.mill.result(id, typo),
    ])
      await expect(call()).rejects.toMatchObject(invalidArgument);
    expect(await test.mill.jobs.list({ queue })).toMatchObject([{ id, state: "ready" }]);
  });
});

describe("an enqueue refuses", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;

  it.each<[string, unknown]>([
    ["a function", () => {}],
    ["a symbol", Symbol("s")],
    ["a bigint", { n: 1n }],
    ["NaN", { n: Number.NaN }],
    ["Infinity", [Infinity]],
    ["a Map", { map: new Map() }],
    ["bytes", { bytes: new Uint8Array(3) }],
    ["an invalid Date", { at: new Date(Number.NaN) }],
    ["NUL", { text: "\0" }],
    ["half a character", { text: "\uD800" }],
    ["a circle", circle],
  ])("an input with %s, before anything is sent [#79]", async (_, input) => {
    const queue = await test.queue();
    await expect(test.mill.enqueue(work, input, { queue })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.enqueueMany(work, [1, input], { queue })).rejects.toMatchObject(invalidArgument);
    expect(await test.mill.jobs.list({ queue })).toEqual([]);
  });

  it.each<[string, object]>([
    ["an unknown option", { priorty: 1 }],
    ["the engine's names", { delaySeconds: 1 }],
    ["attempts below one", { maxAttempts: 0 }],
    ["a priority above ten", { priority: 11 }],
    ["a negative delay", { delay: -1 }],
    ["a run time that is no date", { runAt: new Date("never") }],
    ["a delay that is no duration", { delay: "soon" }],
    ["headers that are not JSON", { headers: { a: 1n } }],
    ["an unknown mode", { fingerprint: "f", fingerprintMode: "merge" }],
  ])("%s [#34 #126]", async (_, options) => {
    const queue = await test.queue();
    await expect(test.mill.enqueue(work, null, { queue, ...options })).rejects.toMatchObject(invalidArgument);
    expect(await test.mill.jobs.list({ queue })).toEqual([]);
  });

  it("what is no definition, and a queue that is not there", async () => {
    await expect(test.mill.enqueue(undefined as unknown as AnyJobDefinition, null)).rejects.toMatchObject(
      invalidArgument,
    );
    await expect(test.mill.enqueue({} as AnyJobDefinition, null)).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.enqueue("", null)).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.enqueue(work, null, { queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
  });

  it("to suggest the option that was meant [#34]", async () => {
    await expect(test.mill.enqueue(work, null, { priorty: 1 } as object)).rejects.toThrow('did you mean "priority"?');
  });
});

it("the engine below is the same one [#152]", () => {
  expect(test.mill.engine satisfies Engine).toBe(test.mill.jobs.engine);
});

it("shares statements among calls that come together, and each job has its own id and input", async () => {
  const queue = await test.queue();
  const inputs = Array.from({ length: 200 }, (_, n) => n);
  const made = await Promise.all(inputs.map((n) => test.mill.enqueue("t", n, { queue })));
  expect(new Set(made.map(({ id }) => id)).size).toBe(200);
  const rows = await test.db.sql(
    `select j.id::text, j.input::text, j.xid from millrace.job j join millrace.queue q on q.id = j.queue_id
     where q.name = $1`,
    [queue],
  );
  expect(new Map(rows.map(({ id, input }) => [id, Number(input)]))).toEqual(new Map(made.map(({ id }, n) => [id, n])));
  expect(new Set(rows.map(({ xid }) => String(xid))).size).toBeLessThan(50);
});
