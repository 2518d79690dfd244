import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { JobFailedError, PermanentError, type Worker, defineJob } from "../../src/index.js";
import { type TestMill, createTestMill } from "../../src/testing/index.js";

const order = defineJob<{ items: number[] }, Record<string, unknown>>("order", { maxAttempts: 1 });
const pack = defineJob<number, number>("pack", { maxAttempts: 1 });
let test: TestMill;
let packers: Worker;
let world: string[] = [];
let started = "";
const before = (): void => void (world = []);
const effects = (): string[] => world;

beforeAll(async () => {
  test = await createTestMill({ url: inject("serverUrl"), schema: "testing_crashes" });
});
beforeEach(() => {
  packers = test.mill.worker({ pollInterval: 50, heartbeatThread: false }).handle(pack, ({ input }) => {
    if (input < 0) throw new PermanentError("nothing to pack");
    world.push(`pack ${input}`);
    return input * 10;
  });
});
afterEach(() => packers.stop());
afterAll(() => test.close());

describe("a handler with a crash after each of its steps", () => {
  it("ends as without, with waits, signals, children, retries and transactions [#217]", async () => {
    let fails = 0;
    const reset = (): void => {
      before();
      fails = 2;
    };
    const report = await test.runWithCrashes(
      order,
      { items: [3, 1, 2] },
      async (job, { step }) => {
        const paid = await step.run("charge", () => {
          world.push("charge");
          return { cents: job.input.items.length * 100 };
        });
        const shaky = await step.run(
          "shaky",
          () => {
            if ((fails -= 1) >= 0) throw new Error("not yet");
            return "at last";
          },
          { maxAttempts: 3, retryDelay: "1m" },
        );
        await step.sleep("cool-off", "3d");
        const [approval, booked] = await Promise.all([
          step.waitFor<{ by: string }>("approved", { timeout: "7d" }),
          step.transaction("book", test.pool, async (tx) => {
            const { rows } = await tx.query<{ one: number }>("select 1 as one");
            return rows[0]!.one === 1;
          }),
        ]);
        const late = await step.waitFor("reviewed", { timeout: "7d" });
        const first = await step.call("first", pack, job.input.items[0]!);
        const parts = await step.map("pack", pack, job.input.items);
        const refused = await step.call("refused", pack, -1).catch((error: unknown) => error instanceof JobFailedError);
        for (const part of parts) await step.run("ship", () => void world.push(`ship ${part}`));
        return { cents: paid.cents, shaky, by: approval?.by, booked, late, first, parts, refused };
      },
      {
        before: reset,
        effects: () => world.toSorted(),
        worker: packers,
        signals: [{ name: "approved", value: { by: "ann" } }],
      },
    );
    expect(report.differences).toEqual([]);
    expect(report.without).toMatchObject({
      crashAfter: null,
      state: "succeeded",
      result: {
        cents: 300,
        shaky: "at last",
        by: "ann",
        booked: true,
        late: null,
        first: 30,
        parts: [30, 10, 20],
        refused: true,
      },
      calls: { charge: 1, shaky: 3, book: 1, ship: 1, "ship#2": 1, "ship#3": 1 },
    });
    const names = "approved book charge cool-off first pack refused reviewed shaky ship ship#2 ship#3";
    expect(report.steps.toSorted()).toEqual(names.split(" "));
    expect(report.crashes.map(({ crashAfter }) => crashAfter)).toEqual(report.steps);
  });

  it("really loses its process: the attempt is lost, and another worker goes on [#217]", async () => {
    const attempts: number[] = [];
    let finallyRan = 0;
    const report = await test.runWithCrashes(order, { items: [] }, async (job, { step }) => {
      attempts.push(job.attempt);
      try {
        await step.run("one", () => 1);
      } finally {
        finallyRan += 1;
      }
      return {};
    });
    expect(report.differences).toEqual([]);
    expect(attempts).toEqual([1, 1, 2]);
    expect(finallyRan).toBe(2);
    const { job } = (await test.mill.jobs.get((await test.enqueued(order)).at(-1)!.id))!;
    expect(job).toMatchObject({ state: "succeeded", attempts: 2, maxAttempts: 2 });
  });

  it("ends as without when it fails and is undone [#217]", async () => {
    const report = await test.runWithCrashes(
      order,
      { items: [] },
      async (_job, { step }) => {
        for (const what of ["flight", "hotel"])
          await step.run(what, () => void world.push(what), { undo: () => void world.push(`no ${what}`) });
        await step.sleep("think", "1h");
        throw new PermanentError("no money");
      },
      { before, effects },
    );
    expect(report.differences).toEqual([]);
    expect(report.steps).toEqual(["flight", "hotel", "think"]);
    expect(report.without).toMatchObject({
      state: "failed",
      error: "no money",
      calls: { flight: 1, hotel: 1, "undo flight": 1, "undo hotel": 1 },
      effects: ["flight", "hotel", "no hotel", "no flight"],
    });
  });

  it("is found out when it has an effect between its steps [#217]", async () => {
    const report = await test.runWithCrashes(
      order,
      { items: [] },
      async (_job, { step }) => {
        await step.run("charge", () => void world.push("charge"));
        world.push("mail");
        await step.run("note", () => void world.push("note"));
        return {};
      },
      { before, effects },
    );
    expect(report.crashes.map(({ differences }) => differences.length)).toEqual([0, 1]);
    expect(report.differences).toEqual([
      'crash after "note": effects are ["charge","mail","note","mail"], without a crash ["charge","mail","note"]',
    ]);
  });

  it("is found out when the value of a step depends on what is read outside of steps [#217]", async () => {
    let read = 0;
    const report = await test.runWithCrashes(
      order,
      { items: [] },
      async (_job, { step }) => {
        const clock = new Date();
        const shared: { total?: number } = {};
        await step.run("sum", () => void (shared.total = 5));
        const day = await step.run("day", () => (read += 1) && clock.toISOString().slice(0, 10) === started);
        return { day, total: shared.total ?? null };
      },
      { before: () => (started = new Date().toISOString().slice(0, 10)), downtime: "1d" },
    );
    expect(read).toBe(3);
    expect(report.without.result).toEqual({ day: true, total: 5 });
    expect(report.crashes.map(({ crashAfter, result }) => [crashAfter, result])).toEqual([
      ["sum", { day: false, total: null }],
      ["day", { day: true, total: null }],
    ]);
    expect(report.differences[0]).toBe(
      'crash after "sum": its result is {"day":false,"total":null}, without a crash {"day":true,"total":5}',
    );
  });

  it("is found out when a step has another name each time [#217]", async () => {
    let calls = 0;
    const report = await test.runWithCrashes(order, { items: [] }, async (_job, { step }) => {
      await step.run("first", () => 1);
      await step.run(`mail ${(calls += 1)}`, () => 1);
      return {};
    });
    expect(report.differences).toEqual([
      'crash after "first": calls of the work of "mail 1": 0, without a crash 1',
      'crash after "first": calls of the work of "mail 2": 1, without a crash 0',
      'crash after "mail 1": the step was not reached',
    ]);
  });

  it("lets what it only started have its effects, and knows jobs without a limit of attempts [#217]", async () => {
    const endless = defineJob<null>("endless", { maxAttempts: Infinity });
    const report = await test.runWithCrashes(
      endless,
      null,
      async (_job, { step }) => {
        await Promise.all([step.start("one", pack, 1), step.start("two", pack, 2)]);
      },
      { before, effects: () => world.toSorted(), worker: packers },
    );
    expect(report.differences).toEqual([]);
    expect(report.without.effects).toEqual(["pack 1", "pack 2"]);
    expect(report.steps.toSorted()).toEqual(["one", "two"]);
  });

  it("takes results for the same that the test takes for the same", async () => {
    const handler = (isSame?: () => boolean) =>
      test.runWithCrashes(
        order,
        { items: [] },
        async (_job, { step }) => ({ id: await step.run("id", () => crypto.randomUUID()) }),
        isSame ? { isSame } : {},
      );
    expect((await handler()).differences).toHaveLength(1);
    expect((await handler(() => true)).differences).toEqual([]);
  });

  it("is not tried when it has no steps, or waits for what nobody does", async () => {
    await expect(test.runWithCrashes(order, { items: [] }, () => ({}))).rejects.toThrow("nothing to crash after");
    await expect(
      test.runWithCrashes(order, { items: [] }, async (_job, { step }) => {
        await step.waitFor("godot");
        return {};
      }),
    ).rejects.toThrow(/is suspended, and waits for something that nobody does: .*godot/);
  });
});
