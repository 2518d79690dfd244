import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import type { ScheduleEvent } from "../../src/db/schedule-engine.js";
import { Scheduler } from "../../src/schedule/scheduler.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, queueNotFound } from "../support/steps.js";
import { until } from "../support/wait.js";

const test = useMill();
let made = 0;
const newName = (): string => `schedule-${(made += 1)}`;

/** Let one scheduler make all that is due, and note what has ended. */
async function look(): Promise<void> {
  const scheduler = new Scheduler({ engine: test.mill.engine, onError: (error) => expect.fail(String(error)) });
  while ((await scheduler.look()) === 0);
  await scheduler.stop();
}

/** Move the clock and look. */
async function pass(seconds: number): Promise<void> {
  await test.db.moveClock(seconds);
  await look();
}

async function now(): Promise<number> {
  return (await test.mill.engine.schedules.now()).getTime();
}

async function claimed(queue: string, limit = 10): Promise<ClaimedJob[]> {
  return test.mill.engine.claim({ queues: [queue], limit });
}

/** Claim the one job there is, let it take some time, and end it. */
async function run(queue: string, outcome: "succeeded" | "failed" | "retry", seconds = 1): Promise<ClaimedJob> {
  const [job, ...others] = await claimed(queue);
  expect(others).toEqual([]);
  await test.db.moveClock(seconds);
  if (outcome === "succeeded") await test.mill.engine.complete(job!);
  else if (outcome === "failed") await test.mill.engine.fail(job!, { message: "broken" });
  else await test.mill.engine.retryLater(job!, { message: "not yet" });
  return job!;
}

const events = async (name: string): Promise<ScheduleEvent[]> => (await test.mill.schedules.events(name)).toReversed();
const told = async (name: string, event: string): Promise<ScheduleEvent[]> =>
  (await events(name)).filter((one) => one.event === event);

describe("runs of a schedule", () => {
  it("are ordinary jobs that carry the schedule and the slot, one per slot [#59]", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10s" }, "t", { a: 1 }, { queue, priority: 3, overlap: "allow" });
    await look();
    const { nextSlot, createdAt } = await test.mill.schedules.get(name);
    expect(nextSlot!.getTime() - createdAt.getTime()).toBe(10_000);
    expect(await claimed(queue)).toEqual([]);
    await pass(10);
    await look();
    const [job, ...others] = await claimed(queue);
    expect(others).toEqual([]);
    expect(job).toMatchObject({ type: "t", input: { a: 1 }, schedule: name });
    expect(new Date(job!.slotAt!)).toEqual(nextSlot);
    expect(await test.mill.jobs.get(job!.id)).toMatchObject({
      job: { schedule: name, scheduleSlot: nextSlot, priority: 3 },
    });
    await pass(10);
    expect((await claimed(queue)).map(({ slotAt }) => new Date(slotAt!).getTime() - nextSlot!.getTime())).toEqual([
      10_000,
    ]);
  });

  it("start 10 s apart at a fixed rate, 14 s apart with a fixed delay when each takes 4 s [#75]", async () => {
    for (const [rule, apart] of [
      [{ every: "10s" }, 10],
      [{ after: "10s" }, 14],
    ] as const) {
      const [queue, name] = [await test.queue(), newName()];
      await test.mill.schedule(name, rule, "t", null, { queue });
      const [starts, ends, slots]: number[][] = [[], [], []];
      while (slots!.length < 4) {
        await look();
        const [job] = await claimed(queue);
        if (!job) {
          const { nextSlot } = await test.mill.schedules.get(name);
          await test.db.moveClock(Math.max(0.05, (nextSlot!.getTime() - (await now())) / 1000));
          continue;
        }
        slots!.push(new Date(job.slotAt!).getTime());
        starts!.push(await now());
        await test.db.moveClock(4);
        await test.mill.engine.complete(job);
        ends!.push((await test.mill.jobs.get(job.id))!.job.finishedAt!.getTime());
      }
      for (let i = 1; i < 4; i += 1) {
        expect(slots![i]! - ("every" in rule ? slots![i - 1]! : ends![i - 1]!)).toBe(10_000);
        expect(Math.abs(starts![i]! - starts![i - 1]! - apart * 1000)).toBeLessThan(2000);
      }
      await test.mill.schedules.remove(name);
    }
  });

  it("do not depend on the clock of the process", async () => {
    const [queue, name] = [await test.queue(), newName()];
    const clock = vi.spyOn(Date, "now");
    try {
      clock.mockReturnValue(0);
      await test.mill.schedule(name, { every: "10s" }, "t", null, { queue });
      await look();
      clock.mockReturnValue(4e12);
      await pass(10);
      clock.mockReturnValue(1);
      await look();
      const { createdAt } = await test.mill.schedules.get(name);
      expect(
        (await test.mill.schedules.runs(name)).map(({ slotAt }) => slotAt.getTime() - createdAt.getTime()),
      ).toEqual([10_000]);
    } finally {
      clock.mockRestore();
    }
  });

  it("go on within its lease when the process that made them dies [#90]", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1s" }, "t", null, { queue, overlap: "allow", missed: { all: 100 } });
    // has the duty, and never comes back
    expect(await test.mill.engine.schedules.due("the dead one", 2, 1)).toHaveProperty("due");
    const scheduler = new Scheduler({ engine: test.mill.engine });
    onTestFinished(() => scheduler.stop());
    expect(await scheduler.look()).toBeGreaterThan(0);
    expect(await test.mill.schedules.runs(name)).toEqual([]);
    const since = performance.now();
    scheduler.start();
    await until("runs are made again", async () => (await test.mill.schedules.runs(name)).length > 1);
    expect(performance.now() - since).toBeGreaterThan(1000);
    const slots = (await test.mill.schedules.runs(name)).map(({ slotAt }) => slotAt.getTime());
    expect(slots.slice(1).map((at, i) => slots[i]! - at)).toEqual(slots.slice(1).map(() => 1000));
    await test.mill.schedules.remove(name);
  });

  it("are made by hand too, beside what runs", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { cron: "0 0 1 1 *" }, "t", null, { queue });
    const id = await test.mill.schedules.trigger(name, { by: "ann" });
    await test.mill.schedules.trigger(name);
    expect((await claimed(queue)).map((job) => job.id)).toContain(id);
    expect(await test.mill.schedules.runs(name)).toMatchObject([
      { kind: "manual" },
      { kind: "manual", jobId: id, outcome: null },
    ]);
    expect(await told(name, "triggered")).toMatchObject([{ by: "ann" }, { by: null }]);
  });

  it("begin late by their jitter, the same for everybody", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10m", jitter: "5m" }, "t", null, { queue });
    await look();
    await pass(600);
    const [run] = await test.mill.schedules.runs(name);
    const { job } = (await test.mill.jobs.get(run!.jobId))!;
    const late = job.runAt.getTime() - run!.slotAt.getTime();
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(300_000);
  });

  it("end with the schedule: at its end, after so many, or when there are no more slots", async () => {
    const queue = await test.queue();
    const at = await now();
    const [ends, counted, listed] = [newName(), newName(), newName()];
    await test.mill.schedule(ends, { every: "10s", endsAt: new Date(at + 25_000) }, "t", null, {
      queue,
      overlap: "allow",
    });
    await test.mill.schedule(counted, { every: "10s" }, "t", null, { queue, overlap: "allow", maxRuns: 3 });
    await test.mill.schedule(listed, { times: [new Date(at + 5000), new Date(at + 7000)] }, "t", null, {
      queue,
      overlap: "allow",
    });
    await look();
    for (let i = 0; i < 8; i += 1) await pass(5);
    expect(await test.mill.schedules.runs(ends)).toHaveLength(2);
    expect(await test.mill.schedules.runs(counted)).toHaveLength(3);
    expect(await test.mill.schedules.runs(listed)).toHaveLength(2);
    expect(await test.mill.schedules.get(ends)).toMatchObject({
      health: "finished",
      finishedBecause: "no more slots",
      nextSlot: null,
    });
    expect(await test.mill.schedules.get(counted)).toMatchObject({ health: "finished", finishedBecause: "maxRuns" });
  });
});

describe("facts of a schedule", () => {
  it("tell the last success, the last attempt and the failures since, through failures and successes [#61 #62 #64 #68 #70]", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1m" }, "t", null, { queue, afterFailure: "skip" });
    await look();
    const outcomes = ["failed", "failed", "failed", "succeeded", "failed", "failed"] as const;
    let lastSuccess: number | undefined;
    const seconds: number[] = [];
    for (const [i, outcome] of outcomes.entries()) {
      await pass(60);
      const startedAt = await now();
      await run(queue, outcome, i + 1);
      if (outcome === "succeeded") lastSuccess = await now();
      const unsettled = await test.mill.schedules.get(name); // before a scheduler has seen the end
      await look();
      const facts = await test.mill.schedules.get(name);
      for (const one of [unsettled, facts]) {
        expect(Math.abs(one.lastAttemptAt!.getTime() - startedAt)).toBeLessThan(1000);
        expect(Math.abs((one.lastSuccessAt?.getTime() ?? 0) - (lastSuccess ?? 0))).toBeLessThan(1000);
      }
      const { job, attempts } = (await test.mill.jobs.get((await test.mill.schedules.runs(name))[0]!.jobId))!;
      expect(job.state).toBe(outcome);
      seconds.push((attempts[0]!.finishedAt.getTime() - attempts[0]!.startedAt.getTime()) / 1000);
      expect(facts.lastSeconds).toBeCloseTo(seconds.at(-1)!, 1);
      expect(facts.runs).toBe(i + 1);
      expect(facts.totalSeconds).toBeCloseTo(
        seconds.reduce((sum, one) => sum + one),
        1,
      );
      expect(facts.averageSeconds).toBeCloseTo(seconds.reduce((sum, one) => sum + one) / (i + 1), 1);
      expect(facts.health).toBe(outcome === "succeeded" ? "healthy" : "failing");
      expect(facts.message).toBe(outcome === "succeeded" ? null : "broken");
    }
    const facts = await test.mill.schedules.get(name);
    expect(facts).toMatchObject({
      failedAttempts: 2,
      failedRuns: 2,
      runs: 6,
      succeeded: 1,
      attempts: 6,
      error: { message: "broken" },
    });
    const [last2, minutes, all] = await test.mill.schedules.durations(name, { runs: 2, windows: ["2m", "1d"] });
    expect(last2).toMatchObject({ windowSeconds: null, runs: 2, succeeded: 0 });
    expect(last2!.totalSeconds).toBeCloseTo(seconds.at(-1)! + seconds.at(-2)!, 1);
    expect(minutes).toMatchObject({ windowSeconds: 120, runs: 2 });
    expect(all).toMatchObject({ windowSeconds: 86_400, runs: 6, succeeded: 1 });
    expect(all!.averageSeconds).toBeCloseTo(seconds.reduce((sum, one) => sum + one) / 6, 1);
  });

  it("keep the slot apart from the next attempt: a retry moves by its backoff, the following slot does not [#63 #76]", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue, retryDelay: "5m" });
    await look();
    await pass(3600);
    const before = await test.mill.schedules.get(name);
    const first = await run(queue, "retry");
    await look();
    const after = await test.mill.schedules.get(name);
    expect(after).toMatchObject({
      nextSlot: before.nextSlot,
      lastSlot: before.lastSlot,
      health: "failing",
      message: "not yet",
      failedAttempts: 1,
      failedRuns: 0,
    });
    expect(after.nextAttemptAt!.getTime() - after.lastAttemptAt!.getTime()).toBeGreaterThan(250_000);
    expect(after.nextAttemptAt!.getTime()).toBeLessThan(after.nextSlot!.getTime());
    await pass(400);
    const [again] = await claimed(queue);
    expect(again).toMatchObject({ id: first.id, attempt: 2, slotAt: first.slotAt });
    await test.mill.engine.complete(again!);
    await look();
    expect(await test.mill.schedules.get(name)).toMatchObject({
      nextSlot: before.nextSlot,
      nextAttemptAt: before.nextSlot,
      health: "healthy",
      failedAttempts: 0,
      runs: 1,
      attempts: 2,
    });
  });
});

describe("after a failure [#76]", () => {
  it("a run is tried again within its slot, and gives way to the next one", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10m" }, "t", null, { queue, retryDelay: "7m" });
    await look();
    await pass(600);
    const first = await run(queue, "retry");
    await pass(440);
    expect((await run(queue, "retry")).id).toBe(first.id);
    await pass(170); // the second retry would come beyond the next slot
    const [second] = await claimed(queue);
    expect(second!.id).not.toBe(first.id);
    expect(second!.attempt).toBe(1);
    expect(await test.mill.jobs.get(first.id)).toMatchObject({ job: { state: "cancelled" } });
    expect(await test.mill.schedules.get(name)).toMatchObject({ failedRuns: 1, failedAttempts: 2 });
  });

  it("skip leaves it to the next slot", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10m" }, "t", null, { queue, afterFailure: "skip" });
    await look();
    await pass(600);
    const job = await run(queue, "retry");
    expect(await test.mill.jobs.get(job.id)).toMatchObject({ job: { state: "failed", reason: "exhausted" } });
    await pass(300);
    expect(await claimed(queue)).toEqual([]);
    await pass(300);
    expect(await claimed(queue)).toHaveLength(1);
  });

  it("stopAfter stops the schedule and says so; resuming starts it again", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10m" }, "t", null, { queue, afterFailure: { stopAfter: 2 } });
    await look();
    for (let i = 0; i < 2; i += 1) {
      await pass(600);
      await run(queue, "failed");
      await look();
    }
    expect(await test.mill.schedules.get(name)).toMatchObject({
      health: "stopped",
      finishedBecause: "failed runs",
      nextSlot: null,
      failedRuns: 2,
      message: "broken",
    });
    expect(await told(name, "stopped")).toMatchObject([{ because: "failed runs" }]);
    await pass(3600);
    expect(await claimed(queue)).toEqual([]);
    await test.mill.schedules.resume(name);
    await look();
    await pass(600);
    expect(await claimed(queue)).toHaveLength(1);
  });

  it("stopAfter holds when the failure is seen only as the next slot comes, and counts no runs by hand or of the past", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10m" }, "t", null, { queue, afterFailure: { stopAfter: 1 } });
    await look();
    await test.mill.schedules.trigger(name);
    await run(queue, "failed");
    await look();
    expect(await test.mill.schedules.get(name)).toMatchObject({ health: "healthy", failedRuns: 0, runs: 1 });
    await pass(600);
    await run(queue, "failed");
    await pass(600); // the end of the first and the second slot are seen in one look
    expect(await test.mill.schedules.get(name)).toMatchObject({ health: "stopped", nextSlot: null });
    expect(await claimed(queue)).toEqual([]);
    await pass(3600);
    expect(await claimed(queue)).toEqual([]);
  });
});

describe("a slot that comes while a run goes on", () => {
  /**
   * Each run takes 12 s, a slot comes every 10 s. Returns the seconds at which runs started, and the most that ran at
   * once.
   */
  async function overlapping(
    overlap: "queue" | "skip" | "allow" | "cancel",
    seconds = 65,
  ): Promise<{ starts: number[]; most: number; name: string }> {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10s" }, "t", null, { queue, overlap });
    await look();
    const begun = (await test.mill.schedules.get(name)).nextSlot!.getTime();
    await test.db.moveClock((begun - (await now())) / 1000);
    const running: { job: ClaimedJob; endsAt: number }[] = [];
    const starts: number[] = [];
    let most = 0;
    for (let at = 0; at < seconds; at = ((await now()) - begun) / 1000) {
      for (const { job } of running.filter(({ endsAt }) => endsAt <= at))
        await test.mill.engine.complete(job).catch(() => {});
      running.splice(0, running.length, ...running.filter(({ endsAt }) => endsAt > at));
      await look();
      for (const job of await claimed(queue)) {
        starts.push(Math.round(at));
        running.push({ job, endsAt: at + 12 });
      }
      const open = await test.db.sql("select from claims where queue = $1", [queue]);
      most = Math.max(most, open.length);
      await test.db.moveClock(1);
    }
    return { starts, most, name };
  }

  it("waits its turn by default: no second instance, the next as soon as the first has ended, what is too much is told once [#181]", async () => {
    const { starts, most, name } = await overlapping("queue");
    expect(most).toBe(1);
    const gaps = starts.slice(1).map((at, i) => at - starts[i]!);
    for (const gap of gaps) expect(gap).toBeLessThanOrEqual(14); // 12 s and the step of the test, not 20
    const skipped = await told(name, "skipped");
    const slots = skipped.map(({ slotAt }) => slotAt!.getTime());
    expect(new Set(slots).size).toBe(slots.length);
    const runs = await test.mill.schedules.runs(name);
    expect(runs.length + slots.length).toBeGreaterThanOrEqual(6); // every slot is a run, or was told
    expect(runs.filter(({ slotAt }) => slots.includes(slotAt.getTime()))).toEqual([]);
  });

  it("is left out with skip, told once, and the next slot after the end is not lost [#181]", async () => {
    const { starts, most, name } = await overlapping("skip");
    expect(most).toBe(1);
    expect(starts.slice(1).map((at, i) => at - starts[i]!)).toEqual(
      starts.slice(1).map(() => expect.closeTo(20, -0.5)),
    );
    const slots = (await told(name, "skipped")).map(({ slotAt }) => slotAt!.getTime());
    expect(new Set(slots).size).toBe(slots.length);
    expect((await test.mill.schedules.get(name)).missed).toBe(slots.length);
  });

  it("runs beside it with allow", async () => {
    const { starts, most } = await overlapping("allow", 35);
    expect(most).toBe(2);
    expect(starts.slice(1).map((at, i) => at - starts[i]!)).toEqual(
      starts.slice(1).map(() => expect.closeTo(10, -0.5)),
    );
  });

  it("cancels it with cancel", async () => {
    const { starts, most, name } = await overlapping("cancel", 35);
    expect(most).toBe(1);
    expect(starts.slice(1).map((at, i) => at - starts[i]!)).toEqual(
      starts.slice(1).map(() => expect.closeTo(10, -0.5)),
    );
    expect(
      (await test.mill.schedules.runs(name)).filter(({ outcome }) => outcome === "cancelled").length,
    ).toBeGreaterThanOrEqual(2);
  });
});

describe("a week of downtime", () => {
  async function afterAWeek(
    missed: object | string,
  ): Promise<{ slots: number[]; name: string; queue: string; at: number }> {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue, overlap: "allow", missed: missed as "last" });
    await look();
    await pass(7 * 86_400 + 1800);
    const at = await now();
    return {
      slots: (await test.mill.schedules.runs(name, { limit: 1000 })).map(
        ({ slotAt }) => (at - slotAt.getTime()) / 60_000,
      ),
      name,
      queue,
      at,
    };
  }

  it("is made up for by the last run by default", async () => {
    const { slots, name } = await afterAWeek("last");
    expect(slots.map(Math.floor)).toEqual([30]);
    expect(await told(name, "missed")).toMatchObject([{ slots: 167 }]);
    expect((await test.mill.schedules.get(name)).missed).toBe(167);
  });

  it("by none", async () => {
    const { slots, name } = await afterAWeek("none");
    expect(slots).toEqual([]);
    expect(await told(name, "missed")).toMatchObject([{ slots: 168 }]);
    expect((await test.mill.schedules.get(name)).nextSlot).not.toBeNull();
  });

  it("by all, up to a bound", async () => {
    expect((await afterAWeek({ all: 1000 })).slots).toHaveLength(168);
    const { slots, name } = await afterAWeek({ all: 5 });
    expect(slots.map(Math.floor)).toEqual([30, 90, 150, 210, 270]);
    expect(await told(name, "missed")).toMatchObject([{ slots: 163 }]);
  });

  it("by those within a window", async () => {
    expect((await afterAWeek({ within: "3h" })).slots.map(Math.floor)).toEqual([30, 90, 150]);
  });

  it("one after another, where they must not overlap", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue, missed: { all: 3 } });
    await look();
    await pass(86_400 + 1800);
    const order: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      order.push(new Date((await run(queue, "succeeded")).slotAt!).getTime());
      await look();
    }
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(await claimed(queue)).toEqual([]);
  });

  it("does not take long to look through when slots come every second", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1s" }, "t", null, { queue });
    await look();
    await pass(30 * 86_400);
    expect(await test.mill.schedules.runs(name)).toHaveLength(1);
    expect((await told(name, "missed"))[0]!.slots).toBe(10_000); // and more, which nobody counts
  });
});

describe("a past range", () => {
  it("is made up for on request, some at once, leaving out what has run", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue });
    await look();
    await pass(3600);
    await run(queue, "succeeded");
    await look();
    await test.db.moveClock(12 * 3600);
    const { createdAt } = await test.mill.schedules.get(name);
    const until = new Date(createdAt.getTime() + 6 * 3600_000 + 1);
    await expect(test.mill.schedules.backfill(name, { since: until, until: createdAt })).rejects.toMatchObject(
      invalidArgument,
    );
    await expect(test.mill.schedules.backfill(name, { since: createdAt, until, concurrency: 0 })).rejects.toMatchObject(
      invalidArgument,
    );
    // with the slot at the anchor, without the one that has run
    expect(await test.mill.schedules.backfill(name, { since: createdAt, until, concurrency: 2 })).toBe(6);
    expect(await test.mill.schedules.backfill(name, { since: createdAt, until, concurrency: 2 })).toBe(0);
    let most = 0;
    const slots: Date[] = [];
    for (let i = 0; i < 6 && slots.length < 6; i += 1) {
      const jobs = (await claimed(queue)).filter(({ slotAt }) => new Date(slotAt!) < until);
      most = Math.max(most, jobs.length);
      for (const job of jobs) {
        slots.push(new Date(job.slotAt!));
        await test.mill.engine.complete(job);
      }
      await look();
    }
    expect(most).toBe(2);
    expect(new Set(slots.map(Number)).size).toBe(6);
  });
});

describe("a schedule that is changed", () => {
  it("says what changed, and neither loses nor repeats the slot in progress", async () => {
    const [queue, name] = [await test.queue(), newName()];
    const put = (every: string) => test.open().schedule(name, { every }, "t", null, { queue, overlap: "allow" });
    expect(await put("1h")).toMatchObject({ change: "created" });
    expect(await put("1h")).toMatchObject({ change: "unchanged" });
    await look();
    await test.db.moveClock(3601); // the slot has come, and nobody has made it yet
    expect(await put("30m")).toMatchObject({ change: "changed", was: { rule: { every: 3_600_000 } } });
    await look();
    await look();
    const [due] = await test.mill.schedules.runs(name);
    expect((due!.slotAt.getTime() - (await test.mill.schedules.get(name)).createdAt.getTime()) / 1000).toBe(3600);
    await pass(1800);
    expect(
      (await test.mill.schedules.runs(name)).map(({ slotAt }) => (slotAt.getTime() - due!.slotAt.getTime()) / 1000),
    ).toEqual([1800, 0]);
    await put("15m"); // has a slot at the same time as the last one
    await pass(1);
    expect(await test.mill.schedules.runs(name)).toHaveLength(2);
    expect((await events(name)).map(({ event }) => event)).toEqual(["created", "changed", "changed"]);
  });

  it("stays as it is when an older release declares it, by its version, and warns when two are at odds", async () => {
    const [queue, name] = [await test.queue(), newName()];
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const put = (every: string, version?: number) =>
      test.open().schedule(name, { every }, "t", null, { queue, ...(version === undefined ? {} : { version }) });
    await put("1h", 2);
    expect(await put("2h", 1)).toMatchObject({ change: "older" });
    expect(await put("2h")).toMatchObject({ change: "older" });
    expect((await test.mill.schedules.get(name)).rule).toMatchObject({ every: 3_600_000 });
    await until("that is told", () => warnings.filter((message) => message.includes("higher version")).length === 2);
    expect(await put("3h", 3)).toMatchObject({ change: "changed" });
    await test.db.sql("update schedule set version = null, declared_by = 'other:1' where name = $1", [name]);
    expect(await put("4h")).toMatchObject({ change: "changed" });
    await until("that is told", () =>
      warnings.some((message) => message.includes("was declared otherwise by other:1")),
    );
  });

  it("may be changed by the client that declared it, but not be two things at once", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue });
    expect(await test.mill.schedule(name, { every: "2h" }, "t", null, { queue })).toMatchObject({ change: "changed" });
    await expect(test.mill.schedule(name, { every: "2h" }, "other", null, { queue })).rejects.toMatchObject(
      invalidArgument,
    );
  });

  it("whose last slot has passed may be declared again as it is, and not otherwise", async () => {
    const [queue, name] = [await test.queue(), newName()];
    const rule = { at: new Date((await now()) + 5000) };
    await test.open().schedule(name, rule, "t", null, { queue });
    await look();
    await pass(10);
    await pass(10);
    expect(await test.open().schedule(name, rule, "t", null, { queue })).toMatchObject({
      change: "unchanged",
      next: [],
    });
    await expect(test.open().schedule(name, { at: new Date(1e12) }, "t", null, { queue })).rejects.toMatchObject(
      invalidArgument,
    );
  });

  it("that is no longer declared is reported, and neither kept in silence nor dropped", async () => {
    const queue = await test.queue();
    const app = newName();
    const [kept, gone] = [newName(), newName()];
    const before = test.open({ app });
    await before.schedule(kept, { every: "1h" }, "t", null, { queue });
    await before.schedule(gone, { every: "1h" }, "t", null, { queue });
    expect(await before.schedules.undeclared()).toEqual([]);
    const after = test.open({ app });
    await after.schedule(kept, { every: "1h" }, "t", null, { queue });
    expect(await after.schedules.undeclared()).toEqual([gone]);
    const worker = test.worker(queue, {}, after);
    const reported = new Promise((resolve) => worker.once("undeclared", resolve));
    const { defineJob } = await import("../../src/job/define-job.js");
    await worker.handle(defineJob("other"), () => {}).start();
    expect(await reported).toEqual([gone]);
    await after.schedules.remove(gone);
    expect(await after.schedules.undeclared()).toEqual([]);
    await expect(after.schedules.get(gone)).rejects.toMatchObject({ name: "ScheduleNotFoundError", code: "MR016" });
  });
});

describe("a schedule", () => {
  it("is paused with who and why, and resumed with or without what was left out", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "1h" }, "t", null, { queue, overlap: "allow" });
    await look();
    await test.mill.schedules.pause(name, { by: "ann", because: "maintenance" });
    expect(await test.mill.schedules.get(name)).toMatchObject({
      health: "paused",
      pausedBy: "ann",
      pausedBecause: "maintenance",
      nextSlot: null,
    });
    await pass(3 * 3600);
    expect(await test.mill.schedules.runs(name)).toEqual([]);
    await test.mill.schedules.resume(name);
    await look();
    expect(await test.mill.schedules.runs(name)).toEqual([]);
    await pass(3600);
    expect(await test.mill.schedules.runs(name)).toHaveLength(1);
    await test.mill.schedules.pause(name);
    await pass(3 * 3600);
    await test.mill.schedules.resume(name, { catchUp: true });
    await look();
    expect(await test.mill.schedules.runs(name)).toHaveLength(2);
    await expect(test.mill.schedules.resume(name)).rejects.toMatchObject(invalidArgument);
  });

  it("makes no run on the days of its calendars", async () => {
    const [queue, name] = [await test.queue(), newName()];
    const days = Array.from({ length: 4 }, (_, day) =>
      new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10),
    );
    const at = await now();
    const calendar = newName();
    await test.mill.schedule(name, { cron: "0 12 * * *", calendars: [calendar] }, "t", null, { queue });
    await look();
    const free = (await test.mill.schedules.get(name)).nextSlot!;
    const blocked = free.toISOString().slice(0, 10);
    await test.mill.schedules.calendarPut(calendar, [...days.filter((day) => day !== blocked), blocked]);
    await look();
    const next = (await test.mill.schedules.get(name)).nextSlot!;
    expect(next.getTime()).toBeGreaterThan(free.getTime());
    expect(next.getTime()).toBeGreaterThan(at);
    expect((await test.mill.schedules.next(name))[0]).toEqual(next);
    await test.mill.schedules.calendarPut(calendar, []);
    await look();
    expect((await test.mill.schedules.get(name)).nextSlot).toEqual(free);
  });

  it("whose queue takes no jobs is told and tried again, and does not hold up the others", async () => {
    const [full, free] = [await test.queue({ maxDepth: 1 }), await test.queue()];
    const [held, other] = [newName(), newName()];
    await test.mill.enqueue("t", null, { queue: full });
    await test.mill.schedule(held, { every: "10s" }, "t", null, { queue: full });
    await test.mill.schedule(other, { every: "10s" }, "t", null, { queue: free });
    await look();
    await test.db.moveClock(10);
    const scheduler = new Scheduler({ engine: test.mill.engine });
    await scheduler.look();
    await scheduler.look();
    expect(await test.mill.schedules.runs(other)).toHaveLength(1);
    expect(await test.mill.schedules.get(held)).toMatchObject({
      health: "failing",
      message: expect.stringContaining("full"),
    });
    await run(full, "succeeded");
    await test.mill.engine.maintain();
    await test.db.moveClock(11);
    while ((await scheduler.look()) === 0);
    expect(await test.mill.schedules.runs(held)).toHaveLength(1);
    expect(await test.mill.schedules.get(held)).toMatchObject({ health: "healthy" });
    await scheduler.stop();
  });

  it("that a pause or an open breaker holds are not healthy", async () => {
    const [queue, name] = [await test.queue({ breaker: { failures: 1, pauseSeconds: 600 } }), newName()];
    await test.mill.schedule(name, { every: "10s" }, "t", null, { queue });
    const health = async (): Promise<string> => (await test.mill.schedules.get(name)).health;
    await look();
    await pass(10);
    expect(await health()).toBe("healthy");
    await test.mill.queues.pause(queue, { type: "t" });
    expect(await health()).toBe("blocked");
    await test.mill.queues.resume(queue, { type: "t" });
    expect(await health()).toBe("healthy");
    await test.mill.enqueue("t", null, { queue, priority: 0, maxAttempts: 1 });
    const [other] = await claimed(queue, 1);
    await test.mill.engine.fail(other!, { message: "503" });
    expect(await health()).toBe("blocked");
    await test.mill.engine.breakerReset({ queue });
    const [job] = await claimed(queue);
    await test.mill.queues.pause(queue);
    expect(await health(), "it runs").toBe("healthy");
    await test.mill.engine.complete(job!);
    expect(await health(), "it has ended").toBe("healthy");
  });

  it("whose queue is full when a waiting slot could go on holds up no other, and goes on later", async () => {
    const full = await test.queue();
    const free = await test.queue();
    const [held, other] = [newName(), newName()];
    await test.mill.schedule(held, { every: "10s" }, "t", null, { queue: full });
    await test.mill.schedule(other, { after: "10s" }, "t", null, { queue: free });
    await look();
    await pass(10);
    const [running] = await claimed(full);
    await pass(10); // one waits for the end of the other
    expect((await test.mill.schedules.get(held)).pending).toBe(1);
    await test.mill.enqueue("t", null, { queue: full });
    await test.mill.engine.queuePut(full, { maxDepth: 1 });
    await test.mill.engine.complete(running!);
    await run(free, "succeeded");
    await look();
    expect(await test.mill.schedules.get(other)).toMatchObject({ runs: 1, nextSlot: expect.any(Date) });
    expect(await test.mill.schedules.get(held)).toMatchObject({
      runs: 1,
      pending: 1,
      message: expect.stringContaining("full"),
    });
    await test.mill.engine.queuePut(full, { maxDepth: null });
    await pass(10);
    expect(await test.mill.schedules.get(held)).toMatchObject({ pending: 0 });
  });

  it("that is paused lets nothing go on that waits, until it is resumed", async () => {
    const [queue, name] = [await test.queue(), newName()];
    await test.mill.schedule(name, { every: "10s" }, "t", null, { queue });
    await look();
    await pass(10);
    const [running] = await claimed(queue);
    await pass(10);
    await test.mill.schedules.pause(name);
    await test.mill.engine.complete(running!);
    await look();
    expect(await claimed(queue)).toEqual([]);
    await test.mill.schedules.resume(name);
    expect(await claimed(queue)).toHaveLength(1);
  });

  it("put by SQL whose rule cannot be read says so, and stands in nobody's way", async () => {
    const name = newName();
    await test.db.sql("select schedule_put($1, $2, $3)", [name, { cron: "61 * * * *" }, { type: "t" }]);
    await look();
    expect(await test.mill.schedules.get(name)).toMatchObject({
      health: "failing",
      nextSlot: null,
      message: expect.stringContaining("61"),
    });
    await test.db.sql("select schedule_put($1, $2, $3)", [name, { cron: "1 * * * *" }, { type: "t" }]);
    await look();
    expect((await test.mill.schedules.get(name)).nextSlot!.getUTCMinutes()).toBe(1);
  });

  it("repeats a job endlessly under one key, after success and failure, until it is cancelled [#144]", async () => {
    const [queue, key] = [await test.queue(), newName()];
    await test.mill.repeat(key, "30s", "t", { n: 1 }, { queue });
    await test.mill.repeat(key, "30s", "t", { n: 1 }, { queue });
    for (let i = 0; i < 12; i += 1) {
      await look();
      const job = await run(queue, i % 3 === 0 ? "succeeded" : "retry");
      expect(job).toMatchObject({ attempt: 1, schedule: key });
      const ended = await now();
      await look();
      const { nextSlot } = await test.mill.schedules.get(key);
      expect(Math.abs(nextSlot!.getTime() - ended - 30_000)).toBeLessThan(1500);
      expect(await claimed(queue)).toEqual([]);
      await test.db.moveClock(30);
    }
    await look();
    const [last] = await claimed(queue);
    await test.mill.cancel(last!.id);
    await look();
    await pass(300);
    expect(await claimed(queue)).toEqual([]);
    expect(await test.mill.schedules.get(key)).toMatchObject({ health: "stopped", finishedBecause: "cancelled" });
  });

  it("makes jobs without a time run at the next slot of a queue that drains at its own [#171]", async () => {
    const queue = await test.queue({ drainsAt: { times: ["18:00"], zone: "Europe/Berlin" } });
    const name = newName();
    await test.mill.schedule(name, { every: "10s" }, "t", null, { queue });
    await look();
    await pass(10);
    const [made] = await test.mill.schedules.runs(name);
    const { job } = (await test.mill.jobs.get(made!.jobId))!;
    expect(
      new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", hour: "2-digit", minute: "2-digit" }).format(
        job.runAt,
      ),
    ).toBe("18:00");
  });

  it("is refused, before anything is stored, when something is wrong with it", async () => {
    const queue = await test.queue();
    const put = (rule: object, options: object = {}, name = newName()) =>
      test.mill.schedule(name, rule as { at: Date }, "t", null, { queue, ...options });
    const count = async (): Promise<number> => (await test.mill.schedules.list()).length;
    const before = await count();
    for (const [rule, said] of [
      [{ cron: "61 * * * *" }, "61"],
      [{ cron: "0 3 * * *", tz: "Europe/Berlim" }, "Europe/Berlin"],
      [{ every: 0 }, ""],
      [{ every: "1h", startsAt: "2026-02-01T00:00:00Z", endsAt: "2026-01-01T00:00:00Z" }, ""],
      [{ at: "2020-01-01T00:00:00Z" }, "never"],
      [{ cron: "0 0 30 2 *" }, "never"],
      [{}, ""],
      [{ cron: "* * * * *", every: "1h" }, ""],
    ] as const)
      await expect(put(rule), JSON.stringify(rule)).rejects.toMatchObject({
        ...invalidArgument,
        message: expect.stringContaining(said),
      });
    for (const options of [
      { overlap: "maybe" },
      { missed: { all: 0 } },
      { missed: "some" },
      { afterFailure: { stopAfter: 0 } },
      { maxRuns: 0 },
      { keepRuns: 0 },
      { delay: "1s" },
      { priority: 11 },
      { maxAttempts: 0 },
      { deadlineAfter: 0 },
    ])
      await expect(put({ every: "1h" }, options), JSON.stringify(options)).rejects.toMatchObject(invalidArgument);
    await expect(put({ every: "1h" }, { queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
    await expect(put({ every: "1h" }, {}, "")).rejects.toMatchObject(invalidArgument);
    expect(await count()).toBe(before);
    await expect(test.mill.schedules.pause("nobody")).rejects.toMatchObject({ code: "MR016" });
    await expect(test.mill.schedules.calendarPut("c", ["12/25/2026"])).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.schedules.calendarPut("c", ["2026-02-30"])).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.schedules.list({ limit: -1 })).rejects.toMatchObject(invalidArgument);
    await expect(put({ every: "1h" }, { overlaps: "skip" })).rejects.toMatchObject({
      ...invalidArgument,
      message: expect.stringContaining('did you mean "overlap"?'),
    });
    const name = newName();
    await put({ every: "1h" }, {}, name);
    for (const wrong of [
      () => test.mill.schedules.pause(name, { becuase: "x" } as object),
      () => test.mill.schedules.next(name, { cuont: 1 } as object),
      () => test.mill.schedules.backfill(name, { since: "2026-01-01" as unknown as Date, until: new Date() }),
      () => test.mill.schedules.backfill(name, { since: new Date(), until: new Date(Date.now() + 864e7 * 100) }),
    ])
      await expect(wrong()).rejects.toMatchObject(invalidArgument);
  });
});
