import type pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import type { Defaults, NewJob } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue } from "../support/jobs.js";
import { finish, miscounts, randomFrom } from "../support/steps.js";
import { until } from "../support/wait.js";

/**
 * Of its own, because a queue finishes only when transactions of the whole server that may have enqueued have ended.
 */
const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const sessions: pg.Client[] = [];
const seed = Number(process.env["MILLRACE_SEED"] ?? Date.now() % 1_000_000);

// What a failed test leaves open must not keep the queues of the next one from finishing.
afterEach(async () => {
  for (const client of sessions.splice(0)) await client.end();
});

async function begin(): Promise<pg.Client> {
  const tx = await db.connect();
  sessions.push(tx);
  await tx.query("begin");
  return tx;
}

/** Put a wrong difference beside the counts of a type. */
async function forge(queue: string, count: string, difference: number, type = "work"): Promise<void> {
  await db.sql(
    `insert into tally (lane, ${count}) select distinct l.key, $3::int from lane_known l join queue q on q.id = l.queue_id where q.name = $1 and l.type = $2`,
    [queue, type, difference],
  );
}

async function eventsOf(queue: string): Promise<{ event: string; by?: string; because?: string; type?: string }[]> {
  return (await db.engine.queueEvents()).events.filter((event) => event.queue === queue);
}

async function isFinished(queue: string): Promise<boolean> {
  return (await db.engine.queues()).find(({ name }) => name === queue)!.state === "finished";
}

/** Whether some rounds of upkeep finish a queue. */
async function finishes(queue: string): Promise<boolean> {
  for (const _ of times(3)) await db.engine.maintain();
  return isFinished(queue);
}

describe("a count that is not what the logs say", () => {
  it("is told exactly by counts_audit, and put right by upkeep, on record [#36]", async () => {
    const queue = await newQueue(db); // the first one: upkeep proves a type by chance, and there is only one
    await db.engine.enqueueMany("work", [1, 2], { queue });
    await enqueue(db, queue, { delaySeconds: 36_000 });
    await enqueue(db, queue, { stage: "s" });
    await db.engine.maintain();
    expect(await miscounts(db)).toEqual([]);
    const right = { ready: 2, delayed: 2, staged: 1 };
    const forgeries = [
      ["ready", 3],
      ["ready", -4],
      ["delayed", 1],
      ["delayed", -3],
      ["staged", 1],
      ["staged", -1],
    ] as const;
    for (const [count, difference] of forgeries) {
      await forge(queue, count, difference);
      const told = Object.entries(right).map(([name, n]) => [
        [name, `${n}`],
        [`counted_${name}`, `${name === count ? n + difference : n}`],
      ]);
      expect(await db.sql("select * from counts_audit()")).toEqual([
        { queue, type: "work", priority: 5, ...Object.fromEntries(told.flat()) },
      ]);
      await until("upkeep has proved the type", async () => {
        await db.engine.maintain();
        return (await miscounts(db)).length === 0;
      });
      expect(await db.engine.queueDepth(queue)).toMatchObject(right);
    }
    const events = await eventsOf(queue);
    expect(events).toEqual(
      forgeries.map(() => expect.objectContaining({ event: "recounted", by: "millrace", type: "work" })),
    );
    expect(events.map(({ because }) => because)).toEqual(
      forgeries.map(([count, difference]) =>
        expect.stringContaining(`${count} ${right[count]}, not ${right[count] + difference}`),
      ),
    );
  });

  it.each([
    ["ready", 3],
    ["ready", -1],
    ["ready", -6],
    ["delayed", 2],
    ["delayed", -1],
    ["staged", 1],
    ["staged", -1],
  ])(
    "%s by %i in every type lets a closed queue finish when its last job has ended, and not before [#157]",
    async (count, difference) => {
      const queue = await newQueue(db);
      const types = times(4).map((n) => `type-${n}`);
      const forgeAll = async (): Promise<void> => {
        for (const type of types) await forge(queue, count, difference, type);
      };
      for (const type of types) await enqueue(db, queue, { type });
      for (const type of types) await enqueue(db, queue, { type, delaySeconds: 60 });
      await forgeAll();
      await db.engine.queueClose(queue);
      expect(await finishes(queue)).toBe(false);
      const jobs = await db.engine.claim({ queues: [queue], limit: 100, leaseSeconds: 3600 });
      expect(jobs).toHaveLength(4);
      await forgeAll();
      expect(await finishes(queue)).toBe(false);
      for (const job of jobs) await db.engine.complete(job);
      await forgeAll();
      expect(await finishes(queue)).toBe(false);
      await db.moveClock(60);
      const rest = await db.engine.claim({ queues: [queue], limit: 100, leaseSeconds: 3600 });
      expect(rest).toHaveLength(4);
      for (const job of rest.slice(1)) await db.engine.complete(job);
      await forgeAll();
      expect(await finishes(queue)).toBe(false);
      await db.engine.complete(rest[0]!);
      await until(`${queue} is finished`, () => finishes(queue), 10_000);
      expect(await miscounts(db, queue)).toEqual([]);
      expect((await eventsOf(queue)).filter(({ event }) => event === "finished")).toHaveLength(1);
    },
  );

  it("but just hides the jobs that run does not let a closed queue finish before they end [#157]", async () => {
    const queue = await newQueue(db);
    const types = times(20).map((n) => `type-${n}`);
    for (const type of types) await enqueue(db, queue, { type });
    const jobs = await db.engine.claim({ queues: [queue], limit: 100, leaseSeconds: 3600 });
    for (const job of jobs.slice(1)) await db.engine.complete(job);
    await db.engine.queueClose(queue);
    await db.engine.maintain();
    await forge(queue, "ready", -1, jobs[0]!.type);
    expect(await finishes(queue)).toBe(false);
    await db.engine.complete(jobs[0]!);
    await until(`${queue} is finished`, () => finishes(queue), 10_000);
  });
});

describe("counts are what the logs say", () => {
  const kinds: readonly [string, Defaults, string | undefined][] = [
    ["a plain queue", {}, undefined],
    ["groups", {}, "g"],
    ["groups with limits", { groupMaxRunning: 1 }, "g"],
    ["groups with rates", { groupRate: { perSecond: 0.1, burst: 2 } }, "g"],
    ["ordered groups", { ordered: true }, "g"],
    ["ordered batches", { ordered: "batches" }, "g"],
    ["an ordered queue that runs one at a time", { ordered: true, maxRunning: 1 }, undefined],
  ];

  it.each(kinds)(
    "through all that happens to the jobs of %s, while transactions are open [#36]",
    async (_, defaults, group) => {
      const queue = await newQueue(db, defaults);
      const wrong: string[] = [];
      const then = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
        const result = await act();
        for (const miscount of await miscounts(db, queue)) wrong.push(`after ${what}: ${miscount}`);
        return result;
      };
      const add = (job: Partial<NewJob> = {}, call = {}): Promise<string> =>
        enqueue(db, queue, { ...(group === undefined ? {} : { group }), ...job }, call);
      const claim = async () => db.engine.claim({ queues: [queue], limit: 10, leaseSeconds: 60 });

      const other = group === undefined ? {} : { group: "other" };
      const ids = await then("enqueueing", async () => [
        await add(),
        await add(),
        await add(),
        await add(other),
        await add({ type: "other" }),
      ]);
      await then("enqueueing for later", () => add({ delaySeconds: 30 }));
      await then("staging", async () => [
        await add({ stage: "s" }),
        await add({ stage: "s" }),
        await add({ stage: "t" }),
      ]);
      await then("a time to start by", () => add({ ttlSeconds: 20 }));
      const late = await begin();
      await then("an enqueue that is open", () => add({}, { tx: late }));
      const [first, ...more] = await then("a claim", claim);
      await then("a retry", () => db.engine.retryLater(first!, { message: "again" }, 10));
      for (const job of more) await then("a release", () => db.engine.release(job));
      const cancelling = await begin();
      await then("a cancel that is open", () => db.engine.cancel([ids[1]!], undefined, { tx: cancelling }));
      const held = await then("a claim that goes round it", claim);
      await then("upkeep", () => db.engine.maintain());
      if (group === undefined) await then("setting aside", () => db.engine.queueSetAside(queue));
      const releasing = await begin();
      await then("a release of a stage that is open", () => db.engine.stageRelease(queue, "s", {}, { tx: releasing }));
      await then("its commit", () => releasing.query("commit"));
      await then("the commit of the cancel", () => cancelling.query("commit"));
      for (const job of held) await then("a completion", () => db.engine.complete(job));
      await db.moveClock(31);
      await then("times that have come", () => db.engine.maintain());
      await then("a claim after that", claim);
      await add({ fingerprint: "f" });
      await then("a replacement", () => add({ fingerprint: "f", fingerprintMode: "replace" }));
      await then("a push", () => add({ fingerprint: "f", fingerprintMode: "debounce", delaySeconds: 5 }));
      await then("shedding of a type", async () => db.engine.queueShed(queue, await clockNow(db), { type: "other" }));
      await then("shedding", async () => db.engine.queueShed(queue, await clockNow(db)));
      await then("a claim that passes over what was shed", claim);
      await db.moveClock(61);
      await then("leases that have ended", () => db.engine.maintain());
      await then("enqueueing again", async () => [
        await add(),
        await add({ delaySeconds: 30 }),
        await add({ stage: "s" }),
        await add(other),
      ]);
      await then("a purge", () => db.engine.queuePurge(queue));
      await then("the commit of an enqueue that was open", () => late.query("commit"));
      await db.moveClock(61);
      for (let rounds = 0; rounds < 50; rounds += 1) {
        await then("upkeep at the end", () => db.engine.maintain());
        const jobs = await then("a claim at the end", claim);
        for (const job of jobs) await db.engine.complete(job);
        if (jobs.length === 0) break;
        await db.moveClock(20);
      }
      expect(wrong).toEqual([]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, staged: 0, running: 0 });
      await finish(db, queue);
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );

  it.each([
    ["has no room", { groupMaxRunning: 1 }],
    ["has no token", { groupRate: { perSecond: 0.01, burst: 1 } }],
    ["is paused", {}],
  ])(
    "of a group that nobody has claimed from because it %s, and its closed queue does not finish [#36] [#157]",
    async (why, defaults: Defaults) => {
      const queue = await newQueue(db, defaults);
      await enqueue(db, queue, { type: "first", group: "g" });
      const first = await claimOne(db, queue, { leaseSeconds: 3600 });
      if (why !== "has no room") await db.engine.complete(first);
      if (why === "is paused") await db.engine.queuePause(queue, { group: "g" });
      const id = await enqueue(db, queue, { type: "second", group: "g" });
      const other = await enqueue(db, queue, { type: "second", group: "h" });
      const next = await claimOne(db, queue); // the line goes past the one that may not go
      expect(next.id).toBe(other);
      await db.engine.complete(next);
      expect(await claimIds(db, queue)).toEqual([]);
      await db.engine.queueClose(queue);
      expect(await finishes(queue)).toBe(false);
      expect(await miscounts(db, queue)).toEqual([]);
      expect(await eventsOf(queue)).not.toContainEqual(expect.objectContaining({ event: "recounted" }));
      if (why === "has no room") await db.engine.complete(first);
      if (why === "has no token") await db.moveClock(101);
      if (why === "is paused") await db.engine.queueResume(queue, { group: "g" });
      expect(await finishes(queue)).toBe(false);
      const job = await claimOne(db, queue);
      expect(job.id).toBe(id);
      await db.engine.complete(job);
      await until(`${queue} is finished`, () => finishes(queue), 10_000);
    },
  );

  it(`whatever three sessions do at random (seed ${seed}) [#36] [#101]`, async () => {
    const random = randomFrom(seed);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
    const queues: string[] = [];
    for (const [, defaults] of kinds) queues.push(await newQueue(db, defaults));
    const known: string[] = [];
    const [free, ...transactions] = [await begin(), await begin(), await begin()];
    // whoever meets another gives up
    for (const client of [free, ...transactions]) await client.query("set lock_timeout = '20ms'; commit");
    const verbs: Record<string, (queue: string, tx: pg.Client) => Promise<unknown>> = {
      async enqueue(queue, tx) {
        const job = {
          type: pick(["a", "b"]),
          ...pick([{}, { group: "g" }, { group: "h" }]),
          ...pick([{}, {}, {}, { delaySeconds: 5 }, { stage: "s" }, { ttlSeconds: 10 }]),
          ...pick([{}, {}, { fingerprint: "f" }]),
        };
        for (const _ of times(1 + random(3))) known.push(await enqueue(db, queue, job, { tx }));
      },
      replace: (queue, tx) =>
        enqueue(
          db,
          queue,
          { type: "a", fingerprint: "f", fingerprintMode: pick(["replace", "debounce", "followUp"]) },
          { tx },
        ),
      async claim(queue, tx) {
        for (const job of await db.engine.claim({ queues: [queue], limit: 1 + random(5), leaseSeconds: 15 }, { tx })) {
          const fate = random(6);
          if (fate === 0) await db.engine.complete(job, undefined, { tx });
          if (fate === 1) await db.engine.retryLater(job, { message: "again" }, random(2) * 5, { tx });
          if (fate === 2) await db.engine.release(job, random(2) * 5, { tx });
          if (fate === 3) await db.engine.fail(job, { message: "no" }, { tx });
        }
      },
      cancel: (_, tx) => db.engine.cancel(known.length > 0 ? [pick(known)] : [], undefined, { tx }),
      retry: (queue, tx) => db.engine.retry(1, { type: pick(["a", "b"]), queue }, { tx }),
      stageRelease: (queue, tx) => db.engine.stageRelease(queue, "s", {}, { tx }),
      stageCancel: (queue, tx) => db.engine.stageCancel(queue, "s", {}, { tx }),
      setAside: (queue, tx) => db.engine.queueSetAside(queue, {}, { tx }),
      shed: async (queue, tx) =>
        db.engine.queueShed(queue, await clockNow(db), pick([{}, { type: "a" }, { group: "g" }]), { tx }),
      purge: (queue, tx) => db.engine.queuePurge(queue, { tx }),
      maintain: (_, tx) => db.engine.maintain({ tx }),
      wait: () => db.moveClock(5),
    };
    const often = ["enqueue", "enqueue", "enqueue", "claim", "claim", "claim", "cancel", "maintain"];
    const isOpen = new Map(transactions.map((tx) => [tx, false]));
    const done: string[] = [];
    for (const _ of times(Number(process.env["COUNTS_STEPS"] ?? 40))) {
      const tx = pick([free, free, ...transactions]);
      const verb = pick([...often, ...Object.keys(verbs)]);
      const queue = pick(queues);
      if (isOpen.get(tx) === false) await tx.query("begin");
      const error = await verbs[verb]!(queue, tx).then(
        () => "",
        ({ message }: Error) => ` (${message})`,
      );
      if (tx !== free) {
        isOpen.set(tx, error === "" && random(3) > 0);
        if (!isOpen.get(tx)) await tx.query(error === "" ? pick(["commit", "commit", "rollback"]) : "rollback");
      }
      done.push(
        `${tx === free ? "" : `${transactions.indexOf(tx)}: `}${verb} ${queue}${error}${isOpen.get(tx) ? " …" : ""}`,
      );
      expect(await miscounts(db, queue), done.join("\n")).toEqual([]);
    }
    // Then all of it ends, and nothing is left behind.
    for (const tx of transactions) await tx.query(pick(["commit", "rollback"]));
    for (const queue of queues) await db.engine.stageRelease(queue, "s");
    for (let quiet = 0; quiet < 3;) {
      await db.moveClock(20);
      await db.engine.maintain();
      let n = 0;
      for (const queue of queues) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 1000 });
        for (const job of jobs) await db.engine.complete(job);
        n += jobs.length;
      }
      quiet = n === 0 ? quiet + 1 : 0;
    }
    const live = await db.sql(
      "select id, queue, type, \"group\", state from jobs where queue = any ($1) and state not in ('succeeded', 'failed', 'expired', 'cancelled')",
      [queues],
    );
    expect(live, done.join("\n")).toEqual([]);
    for (const queue of queues) {
      expect(await miscounts(db, queue), done.join("\n")).toEqual([]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, staged: 0, running: 0 });
    }
  });
});
