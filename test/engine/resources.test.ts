import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, claimOnly, invalidArgument } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

let made = 0;
async function newResource(maxRunning: number): Promise<string> {
  const name = `r${(made += 1)}:gpu`;
  await db.engine.resourcePut(name, { maxRunning });
  return name;
}

describe("a resource", () => {
  it("bounds what runs of all jobs that need it, in whatever queue and type, by the units each needs", async () => {
    const gpu = await newResource(5);
    const [one, two] = [await newQueue(db), await newQueue(db)];
    await db.engine.enqueueMany("small", times(10), { queue: one, resources: { [gpu]: 1 } });
    await db.engine.enqueueMany("large", times(10), { queue: two, resources: { [gpu]: 2 } });
    const large = await claimAll(db, two);
    expect(large).toHaveLength(2); // 4 of 5
    expect(await claimAll(db, one)).toHaveLength(1);
    expect(await db.engine.limits()).toContainEqual({
      kind: "resource",
      queue: null,
      name: gpu,
      maxRunning: 5,
      rate: null,
      inUse: 5,
    });
    await db.engine.complete(large[0]!);
    expect(await claimAll(db, two)).toHaveLength(1);
    expect(await claimAll(db, one)).toHaveLength(0);
  });

  it("is given back however a job ends, and by the end of a lease", async () => {
    const gpu = await newResource(1);
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(6), { queue, resources: { [gpu]: 1 } });
    const one = () => claimOnly(db, queue);
    await db.engine.fail(await one());
    await db.engine.retryLater(await one(), { message: "later" }, 3600);
    await db.engine.release(await one(), 3600);
    await db.engine.cancel([(await one()).id]);
    const lost = await one();
    expect(await claimAll(db, queue)).toHaveLength(0);
    await db.moveClock(60);
    expect(await one()).toMatchObject({ id: lost.id, attempt: 2 });
  });

  it("at its limit delays neither jobs that do not need it nor those that need another", async () => {
    const [gpu, disk] = [await newResource(1), await newResource(1)];
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(3), { queue, resources: { [gpu]: 1 } });
    await db.engine.enqueueMany("t", times(3), { queue, resources: { [gpu]: 1, [disk]: 1 } });
    await db.engine.enqueueMany("t", times(3), { queue, resources: { [disk]: 1 } });
    await db.engine.enqueueMany("t", times(3), { queue });
    const jobs = await claimAll(db, queue);
    expect(jobs).toHaveLength(5); // one of each alone, none of both, all that need nothing
  });

  it("may be what a type or a queue needs, unless a job says otherwise; a retry still needs it", async () => {
    const gpu = await newResource(2);
    const queue = await newQueue(db, { resources: { [gpu]: 1 } });
    await db.engine.enqueueMany("t", times(3), { queue });
    await db.engine.enqueue({ type: "heavy", queue, resources: { [gpu]: 2 } });
    const jobs = await claimAll(db, queue);
    expect(jobs).toHaveLength(2);
    await db.engine.retryLater(jobs[0]!, { message: "again" }, 0);
    expect((await claimAll(db, queue)).map(({ id, attempt }) => [id, attempt])).toEqual([[jobs[0]!.id, 2]]);
    expect((await db.engine.limits()).find(({ name }) => name === gpu)?.inUse).toBe(2);
  });

  it("can be changed while jobs wait", async () => {
    const gpu = await newResource(1);
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(5), { queue, resources: { [gpu]: 1 } });
    expect(await claimAll(db, queue)).toHaveLength(1);
    await db.engine.resourcePut(gpu, { maxRunning: 3 });
    expect(await claimAll(db, queue)).toHaveLength(2);
  });

  it("that is unknown, of 0 units, of more than there are, or without a limit is refused before anything is written", async () => {
    const gpu = await newResource(2);
    const queue = await newQueue(db);
    const bad: Record<string, unknown>[] = [{ nothing: 1 }, { [gpu]: 0 }, { [gpu]: 3 }, { [gpu]: 1.5 }, { [gpu]: "1" }];
    for (const resources of bad) {
      await expect(
        db.engine.enqueue({ type: "t", queue, resources: resources as Record<string, number> }),
        JSON.stringify(resources),
      ).rejects.toMatchObject(invalidArgument);
      await expect(
        db.engine.typePut("never", { resources: resources as Record<string, number> }),
      ).rejects.toMatchObject(invalidArgument);
    }
    for (const options of [
      {},
      { maxRunning: 0 },
      { maxRunning: Number.NaN },
      { most: 1 },
      { rate: { perSecond: 0 } },
      { rate: { burst: 3 } },
      { rate: 5 },
    ]) {
      await expect(db.engine.resourcePut("never", options as object), JSON.stringify(options)).rejects.toMatchObject(
        invalidArgument,
      );
    }
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });
    expect((await db.engine.limits()).map(({ name }) => name)).not.toContain("never");
  });
});
