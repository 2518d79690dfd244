import type pg from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";

/**
 * What the models of test/model found, shown on the real database. A snapshot lists as running only transactions below
 * its xmax, the first number above all that have ended; a transaction that reads its own tickets reads above that.
 */
const db = useDatabase();
let queue = "";
let scenes = 0;
let first: pg.Client;
let second: pg.Client;

beforeEach(async () => {
  first = await db.connect();
  second = await db.connect();
  queue = `q${(scenes += 1)}`;
  await db.engine.queuePut(queue);
  await db.engine.enqueue({ queue, type: "work" });
  const [job] = await db.engine.claim({ queues: [queue] });
  await db.engine.complete(job!);
});

/**
 * Transaction numbers belong to the server: a transaction of another database that ends in between hides what is looked
 * for.
 */
const repeated = { repeats: 5 };

const claim = (tx?: pg.Client, limit = 10): Promise<ClaimedJob[]> =>
  db.engine.claim({ queues: [queue], limit }, tx ? { tx } : undefined);
const enqueue = async (tx?: pg.Client): Promise<string> =>
  (await db.engine.enqueue({ queue, type: "work" }, tx ? { tx } : undefined)).id;
const stateOf = async (id: string): Promise<string | undefined> => (await db.engine.get(id))?.job.state;

describe("a claim that reads tickets of its own transaction does not lose those of older ones still open", () => {
  it("when it claims what it has enqueued itself [#10] [invariant 1]", repeated, async () => {
    await first.query("begin");
    const early = await enqueue(first);
    await second.query("begin");
    const own = await enqueue(second);
    expect((await claim(second)).map(({ id }) => id)).toEqual([own]);
    await second.query("commit");
    await first.query("commit");
    expect((await claim()).map(({ id }) => id)).toEqual([early]);
  });

  it("when it has promoted a due job [#7] [invariant 1]", repeated, async () => {
    const early = await enqueue();
    const [held] = await claim();
    const { id: due } = await db.engine.enqueue({ queue, type: "work", delaySeconds: 5 });
    await db.moveClock(5);
    await first.query("begin");
    await db.engine.retryLater(held!, { message: "again" }, 0, { tx: first });
    expect((await claim()).map(({ id }) => id)).toEqual([due]);
    await first.query("commit");
    expect((await claim()).map(({ id }) => id)).toEqual([early]);
  });

  it("when it settles and claims in one call [invariant 1]", repeated, async () => {
    const [early, released] = [await enqueue(), await enqueue()];
    const [a] = await claim(undefined, 1);
    const [b] = await claim(undefined, 1);
    await first.query("begin");
    await db.engine.release(a!, 0, { tx: first });
    const { claimed } = await db.engine.settle([{ token: b!.token, outcome: "released", jobs: [b!.id] }], {
      queues: [queue],
    });
    expect(claimed.map(({ id }) => id)).toEqual([released]);
    await first.query("commit");
    expect((await claim()).map(({ id }) => id)).toEqual([early]);
  });
});

describe("a purge among one's own jobs: each is either shown as cancelled or handed out [#3] [invariant 1]", () => {
  const expectOneOrTheOther = async (id: string): Promise<void> => {
    const state = await stateOf(id);
    const isHandedOut = (await claim()).some((job) => job.id === id);
    expect({ state, isHandedOut }).toEqual(
      isHandedOut ? { state: "ready", isHandedOut } : { state: "cancelled", isHandedOut },
    );
  };

  it("when they came before it", async () => {
    await first.query("begin");
    const id = await enqueue(first);
    await db.engine.queuePurge(queue, { tx: first });
    await first.query("commit");
    await expectOneOrTheOther(id);
  });

  it("when they come after it, and somebody younger has committed before", async () => {
    await first.query("begin");
    await first.query("select pg_current_xact_id()");
    await enqueue(second);
    await db.engine.queuePurge(queue, { tx: first });
    const id = await enqueue(first);
    await first.query("commit");
    await expectOneOrTheOther(id);
  });
});

describe("a job that was put aside while somebody held it", () => {
  it("does not come back from a purge [#20]", async () => {
    const [held] = [await enqueue(), await enqueue()];
    await first.query("begin");
    await db.engine.cancel([held], undefined, { tx: first });
    await claim();
    await first.query("rollback");
    await first.query("begin");
    await first.query("select postponed_return()");
    const purged = db.engine.queuePurge(queue);
    await second.query("select pg_sleep(0.2)");
    await first.query("commit");
    await purged;
    expect(await stateOf(held)).toBe("cancelled");
    expect(await claim()).toEqual([]);
  });
});

describe("a cancel that is still open", () => {
  it("keeps its job and nothing else: claims go round it [#20] [invariant 3]", async () => {
    const [held, other] = [await enqueue(), await enqueue()];
    await first.query("begin");
    expect(await db.engine.cancel([held], undefined, { tx: first })).toBe(1);
    const claimed = await claim(second);
    expect(claimed.map((job) => job.id)).toEqual([other]);
    await first.query("commit");
    expect(await stateOf(held)).toBe("cancelled");
    expect(await claim()).toEqual([]);
  });
});

describe("a claim in a transaction that stays open", () => {
  /** Something that the next claim would bring back, of whatever queue. */
  const waiting: [string, () => Promise<string>][] = [
    [
      "a job that came due",
      async () => {
        const { id } = await db.engine.enqueue({ queue, type: "work", delaySeconds: 5 });
        await db.moveClock(5);
        return id;
      },
    ],
    [
      "a claim that was lost",
      async () => {
        const { id } = await db.engine.enqueue({ queue, type: "work" });
        await db.engine.claim({ queues: [queue], leaseSeconds: 5 });
        await db.moveClock(6);
        return id;
      },
    ],
    [
      "a job that a claim went round",
      async () => {
        const id = await enqueue();
        await second.query("begin");
        await db.engine.cancel([id], undefined, { tx: second });
        expect(await claim()).toEqual([]);
        await second.query("rollback");
        return id;
      },
    ],
    [
      "a group that waited for its rate",
      async () => {
        await db.engine.queuePut(queue, { groupRate: { perSecond: 0.2 } });
        await db.engine.enqueue({ queue, type: "work", group: "a" });
        const { id } = await db.engine.enqueue({ queue, type: "work", group: "a" });
        expect(await claim()).toHaveLength(1);
        expect(await claim()).toEqual([]);
        await db.moveClock(6);
        return id;
      },
    ],
  ];

  it.each(waiting)("keeps nothing of other queues from others: %s [invariant 1]", async (_what, make) => {
    const id = await make();
    await db.engine.queuePut("another");
    await first.query("begin");
    await db.engine.claim({ queues: ["another"] }, { tx: first });
    expect((await claim()).map((job) => job.id)).toEqual([id]);
    await first.query("commit");
  });

  it.each(waiting)("gets what its own queue has: %s [invariant 1]", async (_what, make) => {
    const id = await make();
    await first.query("begin");
    expect((await claim(first)).map((job) => job.id)).toEqual([id]);
    await first.query("commit");
  });
});
