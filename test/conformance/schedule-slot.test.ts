import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";
import { isBlocked } from "../support/sessions.js";

const db = useDatabase();
const slotAt = new Date("2030-01-01T03:00:00Z");

describe("a schedule's slot", () => {
  it("is carried by its job, with the schedule's name [#59]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { schedule: "nightly", slotAt });
    expect(await jobOf(db, id)).toMatchObject({ schedule: "nightly", scheduleSlot: slotAt });
    expect(await claimOne(db, queue)).toMatchObject({ id, schedule: "nightly", slotAt });
    expect(await db.sql("select schedule, slot_at, job_id from schedule_runs where schedule = 'nightly'")).toEqual([
      { schedule: "nightly", slot_at: slotAt, job_id: id },
    ]);
  });

  it("has exactly one job, though five schedulers race for each of twenty [#59]", async () => {
    const queue = await newQueue(db);
    const schedulers = await Promise.all(Array.from({ length: 5 }, () => db.connect()));
    const slots = Array.from({ length: 20 }, (_, i) => new Date(slotAt.getTime() + i * 60_000));
    const results = await Promise.all(
      schedulers.map(async (tx) => {
        const made = [];
        for (const slot of slots)
          made.push(await db.engine.enqueue({ type: "work", queue, schedule: "raced", slotAt: slot }, { tx }));
        return made;
      }),
    );
    slots.forEach((_, i) => {
      const outcomes = results.map((made) => made[i]!);
      expect(outcomes.filter((outcome) => !outcome.duplicate).length).toBe(1);
      expect(new Set(outcomes.map((outcome) => outcome.id)).size).toBe(1);
    });
    const rows = await db.sql(
      "select schedule_slot, count(*)::int as jobs from jobs where queue = $1 group by schedule_slot order by 1",
      [queue],
    );
    expect(rows).toEqual(slots.map((slot) => ({ schedule_slot: slot, jobs: 1 })));
  });

  it("goes to a scheduler that waited for another, when that one rolls back [#59]", async () => {
    const queue = await newQueue(db);
    const job = { type: "work", queue, schedule: "undone", slotAt };
    const first = await db.connect();
    await first.query("begin");
    await db.engine.enqueue(job, { tx: first });
    const second = db.engine.enqueue(job);
    expect(await isBlocked(db, second, first)).toBe(true);
    await first.query("rollback");
    const made = await second;
    expect(made.duplicate).toBe(false);
    expect((await jobOf(db, made.id)).state).toBe("ready");
  });

  it("stays taken after its job has finished, and is another in another schedule [#59]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { schedule: "once", slotAt });
    await db.engine.complete(await claimOne(db, queue));
    expect(await db.engine.enqueue({ type: "work", queue, schedule: "once", slotAt })).toEqual({ id, duplicate: true });
    expect(await db.engine.enqueue({ type: "work", queue, schedule: "other", slotAt })).toMatchObject({
      duplicate: false,
    });
  });

  it("is unique by constraint [#59]", async () => {
    const id = await enqueue(db, await newQueue(db), { schedule: "constrained", slotAt });
    await expect(
      db.sql("insert into schedule_run (schedule, slot_at, job_id) values ('constrained', $1, $2)", [slotAt, id]),
    ).rejects.toMatchObject({
      code: "23505",
    });
  });
});
