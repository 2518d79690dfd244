import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Millrace } from "../../src/client/millrace.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { type Connected, libraries } from "../support/libraries.js";
import type pg from "pg";

const db = useDatabase();
const forbidden = {
  query: () => Promise.reject(new Error("the pool was used for a statement")),
  connect: () => Promise.reject(new Error("the pool was used for a connection")),
} as unknown as pg.Pool;

describe.each(libraries)("$name", (library) => {
  let lib: Connected;
  beforeAll(async () => { lib = await library.connect(db.url); });
  afterAll(() => lib.close());
  const input = { "snake_key": [1, 2.5, 1e21, null, "ünïcode 🎉", { a_b: [] }], "q?": "$1 ? :x" };
  const probes: Record<string, (m: Millrace, tx: object, queue: string) => Promise<unknown>> = {
    enqueue: async (mill, tx, queue) => {
      const { id } = await mill.enqueue("t", input, { queue, tx, headers: { a_b: 1 }, payload: new Uint8Array([0, 1, 255]) });
      const d = await mill.jobs.get(id, { tx });
      expect(d?.job.input).toEqual(input);
      expect(await mill.engine.payloadRead(id, 0, 10, { tx }).then((b) => [...b!])).toEqual([0, 1, 255]);
    },
    many: async (mill, tx, queue) => { const r = await mill.enqueueMany("t", [1, null, input], { queue, tx, fingerprint: "f" }); expect(r.map((x) => x.duplicate)).toEqual([false, true, true]); expect(r[0]!.id).toMatch(/^\d+$/); },
    notify: async (mill, tx, queue) => { await mill.enqueue("t", 1, { queue, tx, notify: true }); },
    list: async (mill, tx, queue) => { await mill.enqueue("t", input, { queue, tx, delay: "1m" }); const [l] = await mill.jobs.list({ queue, createdFrom: new Date(0) }, { tx }); expect(l?.input).toEqual(input); const g = await mill.jobs.get(l!.id, { tx }); expect(g!.job).toEqual({ ...l, createdAt: expect.any(Date), updatedAt: expect.any(Date), runAt: expect.any(Date) }); expect(l!.runAt!.getTime() - l!.createdAt.getTime()).toBeGreaterThan(50_000) },
    depth: async (mill, tx, queue) => { await mill.enqueue("t", input, { queue, tx }); expect(await mill.queues.depth(queue, { tx })).toMatchObject({ ready: 1 , oldestReadyAt: expect.any(Date)}); },
    pause: async (mill, tx, queue) => { await mill.queues.pause(queue, { by: "x" }, { tx }); await mill.queues.resume(queue, { tx }); },
    queueList: async (mill, tx, queue) => { expect((await mill.queues.list({ tx })).map((q) => q.name)).toContain(queue); },
    claim: async (mill, tx, queue) => { await mill.enqueue("t", input, { queue, tx }); const [job] = await mill.engine.claim({ queues: [queue] }, { tx }); expect(job!.input).toEqual(input); expect((await mill.engine.extend([job!.token], 30, { tx })).size).toBe(1); await mill.engine.progressPut(job!, { p: 1 }, { tx }); expect((await mill.jobs.progress(job!.id, { tx }))!.value).toEqual({ p: 1 }); expect(await mill.engine.setVisibility(job!, 60, { tx })).toBeInstanceOf(Date); await mill.engine.complete(job!, { r_r: 1 }, { tx }); expect(await mill.engine.outcomes([job!.id], { tx })).toMatchObject([{ result: { r_r: 1 } }]); await expect(mill.engine.complete(job!, 1, { tx })).rejects.toMatchObject({ code: "MR005" }); },
    stream: async (mill, tx, queue) => { const { id } = await mill.engine.enqueueStream({ type: "t", queue }, 3, [new Uint8Array([0, 2, 0])], { tx }); expect(await mill.engine.payloadRead(id, 0, 10, { tx }).then((b) => [...b!])).toEqual([0, 2, 0]); },
    error: async (mill, tx) => { const e = await mill.enqueue("t", 1, { queue: "nowhere", tx }).catch((e: Error) => e) as Error & { code: string }; expect(e.code + " " + e.message).toMatch(/^MR003 (?!select|Invalid|Failed)/); },
  };
  it.each(Object.keys(probes))("%s", async (p) => {
    const queue = await newQueue(db);
    const mill = new Millrace({ connection: forbidden });
    class Undo extends Error {}
    await lib.transaction(async (tx) => { await probes[p]!(mill, tx, queue); throw new Undo(); }).catch((e: unknown) => { if (!(e instanceof Undo)) throw e; });
    expect(await db.sql("select from jobs where queue = $1", [queue])).toEqual([]);
  });
  it("database refused", async () => {
    const queue = await newQueue(db);
    const mill = new Millrace({ connection: forbidden });
    await expect(mill.enqueue("t", 1, { queue, tx: lib.database })).rejects.toMatchObject({ code: "MR001" });
  });
});
