import { beforeAll, describe, expect, it } from "vitest";
import { type StoppedClock, stopClock } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();
const microsecond = 0.000001;
let clock: StoppedClock;

beforeAll(async () => {
  clock = await stopClock(db);
});

const after = (time: Date, seconds: number) => new Date(time.getTime() + seconds * 1000);

describe("run time", () => {
  it("no claim before it returns the job, the first one at it does [#7] [#10]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { runAt: after(await clock.now(), 60) });
    for (let second = 0; second < 60; second += 1) {
      expect(await claimIds(db, queue), `after ${second} s`).toEqual([]);
      await clock.advance(second < 59 ? 1 : 1 - microsecond);
    }
    expect(await claimIds(db, queue), "one microsecond early").toEqual([]);
    await clock.advance(microsecond);
    expect(await claimIds(db, queue)).toEqual([id]);
  });

  it("a delay is the same as a run time [#7] [#10]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { delaySeconds: 5 });
    await clock.advance(5 - microsecond);
    expect(await claimIds(db, queue)).toEqual([]);
    await clock.advance(microsecond);
    expect(await claimIds(db, queue)).toEqual([id]);
  });

  it("of exactly now, or long ago, is no delay [#10]", async () => {
    const queue = await newQueue(db);
    const now = await enqueue(db, queue, { runAt: await clock.now() });
    const past = await enqueue(db, queue, { runAt: after(await clock.now(), -86_400) });
    expect(await claimIds(db, queue)).toEqual([now, past]);
  });
});

describe("end of lease", () => {
  it("is set by the claiming statement itself, and hides the job at once [#8]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const end = after(await clock.now(), 10);
    const [claimed] = await db.sql("select job_id, lease_ends_at from job_claim(array[$1], p_lease_seconds => 10)", [
      queue,
    ]);
    expect(claimed).toMatchObject({ job_id: id, lease_ends_at: end });
    expect((await jobOf(db, id)).leaseEndsAt).toEqual(end);
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("makes the job eligible exactly when it is reached [#10]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await claimOne(db, queue, { leaseSeconds: 10 });
    await clock.advance(10 - microsecond);
    expect(await claimIds(db, queue), "one microsecond early").toEqual([]);
    await clock.advance(microsecond);
    expect(await claimIds(db, queue)).toEqual([id]);
  });
});
