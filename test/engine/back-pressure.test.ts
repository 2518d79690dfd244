import { describe, expect, it } from "vitest";
import { QueueFullError } from "../../src/db/errors.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue } from "../support/jobs.js";
import { invalidArgument, queueFull } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const refusal = async (call: Promise<unknown>): Promise<QueueFullError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(QueueFullError);
  return error as QueueFullError;
};

describe("maxDepth [#108]", () => {
  it("refuses jobs while that many wait, ready or delayed, in every way to enqueue, and writes nothing", async () => {
    const queue = await newQueue(db, { maxDepth: 3 });
    await db.engine.enqueueMany("t", [1, 2], { queue });
    await enqueue(db, queue, { delaySeconds: 100 });
    const ways = [
      () => db.engine.enqueue({ type: "t", queue }),
      () => db.engine.enqueue({ type: "other", queue, priority: 0 }),
      () => db.engine.enqueue({ type: "t", queue, fingerprint: "f" }),
      () => db.engine.enqueueMany("t", [1, 2], { queue }),
      () => db.engine.enqueueMany("t", [1, 2], { queue, fingerprint: "f" }),
      () => db.engine.enqueueEach([{ type: "t" }, { type: "t", queue }]),
    ];
    const all = async () => (await db.sql("select count(*)::int as n from job"))[0]!["n"];
    const before = await all();
    for (const way of ways) expect((await refusal(way())).retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(await all()).toBe(before);
    expect(await db.sql("select from fingerprint")).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 2, delayed: 1 });

    await claimOne(db, queue);
    await enqueue(db, queue); // running jobs do not wait
    await refusal(enqueue(db, queue));
    await db.engine.queuePut(queue, { maxDepth: null });
    await enqueue(db, queue);
  });

  it("says when to come back: at the pace at which jobs came", async () => {
    const queue = await newQueue(db, { maxDepth: 10 });
    await db.engine.enqueueMany("t", times(20), { queue }); // a call is accepted as a whole
    await db.moveClock(40);
    const error = await refusal(enqueue(db, queue));
    expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(21); // 11 of 20 jobs, which came within 40 s
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(24);
    expect(error).toMatchObject({ ...queueFull, remedy: expect.stringMatching(/try again in 2\d s/) });
    await db.moveClock(4000);
    expect((await refusal(enqueue(db, queue))).retryAfterSeconds).toBe(60);
  });

  it("counts what one transaction has written, and not what others have not committed", async () => {
    const queue = await newQueue(db, { maxDepth: 2 });
    const [a, b] = [await db.connect(), await db.connect()];
    await a.query("begin");
    await b.query("begin");
    await db.engine.enqueueMany("t", [1, 2], { queue }, { tx: a });
    await db.engine.enqueueMany("t", [1, 2], { queue }, { tx: b }); // does not see the other's
    await a.query("savepoint here");
    await refusal(enqueue(db, queue, {}, { tx: a }));
    await a.query("rollback to here");
    await a.query("commit");
    await b.query("commit");
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 4 });
    await refusal(enqueue(db, queue));
  });

  it("does not refuse what is in the queue already: retries, releases, promotions, dead letters", async () => {
    const dead = await newQueue(db, { maxDepth: 1 });
    await enqueue(db, dead);
    const queue = await newQueue(db, { maxDepth: 2, deadLetterQueue: dead });
    await enqueue(db, queue);
    await enqueue(db, queue);
    const [first, second] = [await claimOne(db, queue), await claimOne(db, queue)];
    await enqueue(db, queue);
    await enqueue(db, queue);
    await db.engine.release(first);
    await db.engine.fail(second, { message: "no" });
    expect(await db.engine.queueDepth(dead)).toMatchObject({ ready: 2 });
    expect(await claimIds(db, queue)).toHaveLength(3);
  });

  it("asks nothing more of queues without it", async () => {
    const queue = await newQueue(db);
    const [kept] = await db.sql<{ text: string }>(
      "select string_agg(pg_get_functiondef(f::regproc), ';') as text from unnest('{queue_room,calendar_time}'::text[]) f",
    );
    await db.sql(kept!.text.replaceAll(/\nbegin\n/g, "\nbegin\n  raise 'nobody asked for this';\n"));
    await expect(db.engine.enqueue({ type: "t", queue: await newQueue(db, { maxDepth: 1 }) })).rejects.toThrow(
      "nobody asked",
    );
    try {
      await enqueue(db, queue);
      await enqueue(db, queue, { priority: 3 });
      await db.engine.enqueueEach([{ type: "t", queue, priority: 1 }]);
    } finally {
      await db.sql(kept!.text);
    }
  });
});

describe("maxAgeSeconds [#108]", () => {
  it("refuses jobs while one has waited for longer, counted from its run time", async () => {
    const queue = await newQueue(db, { maxAgeSeconds: 60 });
    await enqueue(db, queue, { delaySeconds: 50 });
    await db.moveClock(100); // ready for 50 s
    await enqueue(db, queue, { type: "later" });
    await db.engine.maintain();
    await db.moveClock(15);
    const error = await refusal(enqueue(db, queue));
    expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(5);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(10);
    await claimOne(db, queue, { types: ["work"] });
    await enqueue(db, queue);
  });

  it("looks at groups, and neither at ended jobs nor at what was set aside", async () => {
    const queue = await newQueue(db, { maxAgeSeconds: 60 });
    const old = await enqueue(db, queue, { group: "acme" });
    await db.moveClock(61);
    await refusal(enqueue(db, queue));
    await db.engine.cancel([old]);
    await enqueue(db, queue);

    const plain = await newQueue(db, { maxAgeSeconds: 60 });
    await enqueue(db, plain);
    await db.moveClock(61);
    await refusal(enqueue(db, plain));
    await db.engine.queueSetAside(plain);
    await enqueue(db, plain);
    expect((await db.engine.queueDepth(plain)).oldestAgeSeconds).toBeGreaterThan(60); // which tells of all
  });
});

describe("options of back-pressure and freshness", () => {
  it("are checked when they are set, and belong to queues", async () => {
    for (const options of [
      { maxDepth: 0 },
      { maxDepth: 1.5 },
      { maxDepth: "9" },
      { maxAgeSeconds: 0 },
      { maxAgeSeconds: 1e12 },
      { freshnessSeconds: -1 },
    ]) {
      await expect(db.engine.queuePut("checked", options as object), JSON.stringify(options)).rejects.toMatchObject(
        invalidArgument,
      );
    }
    for (const options of [
      { maxDepth: 5 },
      { maxAgeSeconds: 5 },
      { freshnessSeconds: 5 },
      { drainsAt: { times: ["18:00"], zone: "UTC" } },
    ]) {
      await expect(db.engine.typePut("t", options)).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.cellPut(options)).rejects.toMatchObject(invalidArgument);
    }
    expect(await db.sql("select from queue where name = 'checked'")).toEqual([]);
  });
});
