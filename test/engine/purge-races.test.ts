import type pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked, pidOf } from "../support/sessions.js";
import { claimAll, finish, miscounts } from "../support/steps.js";
import { until } from "../support/wait.js";

/**
 * Of its own, because a queue finishes only when transactions of the whole server that may have enqueued have ended.
 */
const db = useDatabase({ ownServer: true });
const sessions: pg.Client[] = [];
const nothing = { ready: 0, delayed: 0, staged: 0, running: 0 };

async function session(): Promise<pg.Client> {
  const client = await db.connect();
  sessions.push(client);
  return client;
}

// What a failed test leaves open must not keep the queues of the next one from finishing.
afterEach(async () => {
  for (const client of sessions.splice(0)) await client.end();
});

describe("a purge", () => {
  it("leaves a lane alone that was found after it began, waits for nobody there, and the queue finishes [#81] [#157]", async () => {
    const queue = await newQueue(db);
    for (const _ of [1, 2, 3]) await enqueue(db, queue, { type: "known" });
    await db.engine.complete(await claimOne(db, queue));
    const [holder, other, purger] = [await session(), await session(), await session()];
    await holder.query("begin");
    const running = [await claimOne(db, queue, { types: ["known"] }, { tx: holder })];
    const purging = db.engine.queuePurge(queue, { tx: purger });
    expect(await isBlocked(db, purging, holder)).toBe(true);

    const added = [];
    for (const _ of [1, 2, 3]) added.push(await enqueue(db, queue, { type: "new" }));
    running.push(await claimOne(db, queue, { types: ["new"] }));
    await other.query("begin");
    running.push(await claimOne(db, queue, { types: ["new"] }, { tx: other }));
    await holder.query("commit");
    expect(await isBlocked(db, purging, other)).toBe(false);
    await other.query("commit");

    expect(await purging).toBe(1);
    for (const job of running) await db.engine.complete(job);
    const rest = await claimAll(db, queue);
    expect(rest.map(({ id }) => id)).toEqual([added[2]]);
    await db.engine.complete(rest[0]!);
    expect(await db.engine.queueDepth(queue)).toMatchObject(nothing);
    await finish(db, queue);
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it.each(["commit", "rollback"])(
    "drops staged jobs whose release is open, whatever its end: %s [#81] [#157] [#180]",
    async (end) => {
      const queue = await newQueue(db);
      const ids = (await db.engine.enqueueMany("work", [1, 2, 3], { queue, stage: "s" })).map(({ id }) => id);
      const tx = await session();
      await tx.query("begin");
      expect(await db.engine.stageRelease(queue, "s", {}, { tx })).toBe(3);
      expect(await db.engine.queuePurge(queue)).toBe(3);
      await tx.query(end);
      for (const id of ids) expect(await stateOf(db, id)).toBe("cancelled");
      expect(await claimIds(db, queue)).toEqual([]);
      expect(await db.engine.stageRelease(queue, "s")).toBe(0);
      await db.engine.maintain();
      expect(await claimIds(db, queue)).toEqual([]);
      const later = await enqueue(db, queue);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ...nothing, ready: 1 });
      expect(await claimIds(db, queue)).toEqual([later]);
      await db.engine.cancel([later]);
      await finish(db, queue);
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );

  it.each(["release", "retry"] as const)(
    "and the %s of a running job that waits for it: what is told as cancelled never runs [#81] [#142]",
    async (verb) => {
      const queue = await newQueue(db);
      for (const type of ["a", "b"]) await enqueue(db, queue, { type });
      // A purge takes the entries of lanes in the order of their keys.
      const [low, high] = (
        await db.sql<{ type: string }>(
          "select l.type from lane_known l join queue q on q.id = l.queue_id where q.name = $1 group by l.key, l.type order by l.key",
          [queue],
        )
      ).map(({ type }) => type);
      const first = await claimOne(db, queue, { types: [low!] });
      const second = await claimOne(db, queue, { types: [high!] });
      const [slow, purger] = [await session(), await session()];
      await slow.query("begin");
      await db.engine.release(second, 0, { tx: slow });
      const purgerPid = await pidOf(purger);
      const purging = db.engine.queuePurge(queue, { tx: purger });
      expect(await isBlocked(db, purging, slow)).toBe(true);
      const reporting =
        verb === "release" ? db.engine.release(first) : db.engine.retryLater(first, { message: "again" }, 5);
      await until(
        "the report waits for the purge",
        async () =>
          (await db.sql("select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [purgerPid])).length > 0,
      );
      await slow.query("commit");
      await Promise.all([purging, reporting]);

      // it came back after the purge
      expect(await stateOf(db, first.id)).toBe(verb === "release" ? "ready" : "delayed");
      expect(await stateOf(db, second.id)).toBe("cancelled");
      if (verb === "retry") await db.moveClock(5);
      const claimed = await claimAll(db, queue);
      expect(claimed.map(({ id }) => id)).toEqual([first.id]);
      await db.engine.complete(claimed[0]!);
      expect((await jobOf(db, first.id)).state).toBe("succeeded");
      await finish(db, queue);
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );
});

describe("shedding", () => {
  it("while upkeep is under way counts a job once that expired, and the queue finishes [#14] [#108] [#157]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue));
    await db.engine.maintain();
    const id = await enqueue(db, queue, { ttlSeconds: 5 });
    const upkeep = await session();
    await upkeep.query("begin");
    await db.engine.maintain({ tx: upkeep });
    await db.moveClock(5);
    expect(await claimIds(db, queue)).toEqual([]); // passes over it
    await db.moveClock(1);
    expect(await db.engine.queueShed(queue, await clockNow(db))).toBe(0);
    await upkeep.query("commit");
    await finish(db, queue);
    expect(await stateOf(db, id)).toBe("expired");
    expect(await miscounts(db, queue)).toEqual([]);
  });
});
