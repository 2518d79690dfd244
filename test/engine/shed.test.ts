import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, newQueue, stateOf } from "../support/jobs.js";
import { claimAll, invalidArgument, pagesOf, queueNotFound } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
/** A time after all that was enqueued so far, and before all that will be. A Date has no microseconds. */
const now = async (): Promise<Date> =>
  (await db.sql<{ now: Date }>("select clock_now() as now from pg_sleep(0.002)"))[0]!.now;
const open = async (): Promise<number> =>
  (await db.sql<{ n: number }>("select count(*)::int as n from lane_purge where is_open"))[0]!.n;

describe("shedding what was enqueued before a time [#108]", () => {
  it("drops what waits, ready and delayed, and nothing else", async () => {
    const queue = await newQueue(db);
    const [running] = await db.engine.enqueueMany("t", [0], { queue });
    expect(await claimIds(db, queue)).toEqual([running!.id]);
    const old = await db.engine.enqueueMany("t", times(250), { queue });
    const [delayed] = await db.engine.enqueueMany("t", [1], { queue, delaySeconds: 3600 });
    const [urgent] = await db.engine.enqueueMany("u", [1], { queue, priority: 0 });
    const moved = await enqueue(db, queue, { type: "t", fingerprint: "f" });
    // leaves a ticket that is void
    await enqueue(db, queue, { type: "t", fingerprint: "f", fingerprintMode: "replace" });
    await db.engine.cancel([old[7]!.id]);
    const before = await now();
    const fresh = await db.engine.enqueueMany("t", times(3), { queue });
    expect(await db.engine.queueShed(queue, before)).toBe(249 + 3);
    expect(await stateOf(db, running!.id)).toBe("running");
    for (const id of [old[0]!.id, old[249]!.id, delayed!.id, urgent!.id, moved]) {
      expect((await db.engine.get(id))!.job).toMatchObject({ state: "cancelled", reason: "purged" });
    }
    expect((await db.engine.get(old[7]!.id))!.job).toMatchObject({ state: "cancelled", reason: null });
    expect(await stateOf(db, fresh[0]!.id)).toBe("ready");
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 3, delayed: 0, running: 1 });
    expect(idsOf(await claimAll(db, queue))).toEqual(idsOf(fresh));
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 4 });
    await db.engine.maintain();
    expect(await open()).toBe(0); // claims need not look any more
  });

  it("keeps younger jobs that stand between older ones", async () => {
    const queue = await newQueue(db);
    const long = await db.connect();
    await long.query("begin");
    const early = await enqueue(db, queue, { input: "early" }, { tx: long });
    const old = await enqueue(db, queue, { input: "old" });
    const before = await now();
    // in the log before the old one, because its transaction began before
    const young = await enqueue(db, queue, { input: "young" }, { tx: long });
    await long.query("commit");
    expect(await db.engine.queueShed(queue, before)).toBe(1); // the next one is young
    expect([await stateOf(db, early), await stateOf(db, old), await stateOf(db, young)]).toEqual([
      "cancelled",
      "cancelled",
      "ready",
    ]);
    expect(idsOf(await claimAll(db, queue))).toEqual([young]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 1 });
  });

  it("lets running jobs come back, and jobs of open transactions arrive", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const late = await enqueue(db, queue, {}, { tx });
    const [released, retried, lost] = idsOf(await db.engine.enqueueMany("work", times(3), { queue }));
    const claims = [
      await claimOne(db, queue),
      await claimOne(db, queue),
      await claimOne(db, queue, { leaseSeconds: 5 }),
    ];
    const waiting = await enqueue(db, queue);
    await db.moveClock(1);
    await db.engine.queueShed(queue, await now());
    await tx.query("commit");
    await db.engine.release(claims[0]!);
    await db.engine.retryLater(claims[1]!, { message: "again" }, 0);
    await db.moveClock(10);
    await db.engine.maintain();
    expect(await stateOf(db, waiting)).toBe("cancelled");
    expect(new Set(idsOf(await claimAll(db, queue)))).toEqual(new Set([late, released, retried, lost]));
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 4 });
  });

  it("can be only a type or a group, and several times", async () => {
    const queue = await newQueue(db);
    const make = async (): Promise<string[]> => [
      await enqueue(db, queue, { type: "a", group: "acme" }),
      await enqueue(db, queue, { type: "a", group: "zeta" }),
      await enqueue(db, queue, { type: "b" }),
      await enqueue(db, queue, { type: "a", group: "acme", delaySeconds: 60 }),
    ];
    const states = async (ids: string[]): Promise<string[]> => Promise.all(ids.map((id) => stateOf(db, id)));
    const first = await make();
    const between = await now();
    const second = await make();
    await db.engine.queueShed(queue, await now(), { group: "acme" });
    expect(await states([...first, ...second])).toEqual([
      "cancelled",
      "ready",
      "ready",
      "cancelled",
      "cancelled",
      "ready",
      "ready",
      "cancelled",
    ]);
    await db.engine.queueShed(queue, between, { type: "b" });
    expect(await states([first[2]!, second[2]!])).toEqual(["cancelled", "ready"]);
    await db.engine.queueShed(queue, between);
    expect(await states([...first, ...second])).toEqual([
      "cancelled",
      "cancelled",
      "cancelled",
      "cancelled",
      "cancelled",
      "ready",
      "ready",
      "cancelled",
    ]);
    expect(new Set(idsOf(await claimAll(db, queue, { leaseSeconds: 3600 })))).toEqual(new Set([second[1], second[2]]));
    await db.moveClock(61);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 2 });
    expect(await db.engine.queuePurge(queue)).toBe(0);
    expect(await db.sql("select count(*)::int as n from jobs where queue = $1", [queue])).toEqual([{ n: 8 }]);
  });

  it("passes over a flooded group at its turn, and over what was set aside", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(3000), { queue, group: "flood" });
    await db.engine.enqueueMany("t", times(5), { queue, group: "calm" });
    expect(await claimIds(db, queue, { limit: 2 })).toHaveLength(2);
    const before = await now();
    const kept = [
      await enqueue(db, queue, { type: "t", group: "flood" }),
      await enqueue(db, queue, { type: "t", group: "calm" }),
    ];
    await db.engine.queueShed(queue, before);
    const seen: string[] = [];
    for (let n = 0; n < 12; n += 1) seen.push(...(await claimIds(db, queue, { limit: 10 })));
    expect(seen.toSorted()).toEqual(kept.toSorted());
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });

    const plain = await newQueue(db);
    await db.engine.enqueueMany("t", times(500), { queue: plain });
    await db.engine.queueSetAside(plain);
    await db.engine.queueShed(plain, await now());
    expect(await claimIds(db, plain)).toEqual([]);
    expect(await db.engine.queueDepth(plain)).toMatchObject({ ready: 0 });
  });

  it("costs the same whatever is ready, and claims go on at once", async () => {
    const client = await db.connect();
    const idle = await newQueue(db);
    const cost = async (batches: number): Promise<number> => {
      const queue = await newQueue(db);
      for (let n = 0; n < batches; n += 1)
        await db.sql(
          `select from job_enqueue_many((select json_agg(n) from generate_series(1, 10000) n), json_build_object('type', 't', 'queue', $1::text))`,
          [queue],
        );
      const fresh = await now();
      const job = await enqueue(db, queue, { type: "t" });
      await db.engine.maintain();
      // so that its plans are made, also when statistics have become new
      await client.query("select queue_shed($1, now())", [idle]);
      const pages = await pagesOf(client, `select queue_shed('${queue}', '${fresh.toISOString()}')`);
      for (let n = 0; n < 10; n += 1) {
        const ids = await claimIds(db, queue);
        if (ids.length > 0) expect(ids).toEqual([job]);
        if (ids.length > 0) break;
        expect(n).toBeLessThan(9);
      }
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, running: 1 });
      return pages;
    };
    await cost(1);
    const [few, many] = [await cost(11), await cost(25)]; // it looks at 100,000 at most
    expect(many).toBeLessThanOrEqual(few * 1.5);
  }, 120_000);

  it("takes any time, and refuses what makes no sense", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    for (const time of ["-infinity", "1970-01-01", "2020-01-01"])
      expect((await db.sql("select queue_shed($1, $2)::int as n", [queue, time]))[0]).toEqual({ n: 0 });
    for (const [time, n] of [
      ["infinity", 1],
      ["294000-01-01", 0],
    ])
      expect((await db.sql("select queue_shed($1, $2)::int as n", [queue, time]))[0]).toEqual({ n });
    await expect(db.engine.queueShed("nowhere", new Date())).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.queueShed(queue, new Date(NaN))).rejects.toMatchObject(invalidArgument);
    await expect(db.sql("select queue_shed($1, null)", [queue])).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.queueShed(queue, new Date(), { group: "" })).rejects.toMatchObject(invalidArgument);
  });
});
