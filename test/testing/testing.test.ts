import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { PermanentError, defineJob } from "../../src/index.js";
import { type TestMill, createTestMill } from "../../src/testing/index.js";

const mail = defineJob<{ to: string; about?: { subject: string } }, { sent: boolean }>("mail");
let test: TestMill;
beforeAll(async () => {
  test = await createTestMill({ url: inject("serverUrl"), schema: "testing_helpers" });
});
afterAll(() => test.close());

describe("millrace/testing", () => {
  it("finds what was enqueued by a part of its input, and says what was there instead", async () => {
    await test.mill.enqueue(mail, { to: "ada", about: { subject: "hello" } });
    expect((await test.expectEnqueued(mail, { about: { subject: "hello" } })).state).toBe("ready");
    await expect(test.expectEnqueued(mail, { to: "grace" })).rejects.toMatchObject({
      message: expect.stringContaining("there are 1 others"),
      actual: [{ to: "ada", about: { subject: "hello" } }],
    });
    await expect(test.expectEnqueued("nothing")).rejects.toThrow('no "nothing" was enqueued');
  });

  it("runs one job inline, whatever its outcome", async () => {
    const done = await test.runInline(mail, { to: "ada" }, async (job) => ({ sent: job.input.to === "ada" }));
    expect(done.job).toMatchObject({ state: "succeeded", result: { sent: true }, attempts: 1 });
    const refused = await test.runInline(mail, { to: "nobody" }, () => {
      throw new PermanentError("no such address");
    });
    expect(refused.job).toMatchObject({ state: "failed", reason: "permanent" });
  });

  it("makes the runs of schedules whose time has come", async () => {
    const report = defineJob<null>("report");
    const slots: Date[] = [];
    const worker = test.mill.worker({ pollInterval: 50 }).handle(report, ({ slotAt }) => void slots.push(slotAt!));
    const { next } = await test.mill.schedule("nightly", { cron: "0 3 * * *", tz: "Europe/Berlin" }, report, null);
    await test.drain(worker);
    expect(slots).toEqual([]);
    for (let night = 0; night < 2; night += 1) {
      await test.advance("1d");
      await test.drain(worker);
    }
    expect(slots.map((slot) => new Date(slot))).toEqual(next.slice(0, 2));
    await worker.stop();
    await test.mill.schedules.remove("nightly");
  });

  it("moves the time of the process and of the database together, and drains what has come due", async () => {
    const later = defineJob<number>("later");
    const seen: number[] = [];
    const worker = test.mill.worker({ pollInterval: 50 });
    worker.handle(later, (job) => void seen.push(job.input));
    await test.mill.enqueue(later, 1);
    await test.mill.enqueue(later, 2, { delay: "1d" });
    await test.drain(worker);
    expect(seen).toEqual([1]);
    const before = Date.now();
    await test.advance("1d");
    expect(Date.now() - before).toBeGreaterThanOrEqual(86_400_000);
    expect(new Date().getTime() - before).toBeGreaterThanOrEqual(86_400_000);
    await test.drain(worker);
    expect(seen).toEqual([1, 2]);
  });
});
