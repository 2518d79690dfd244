import { describe, expect, it } from "vitest";
import { type JobDefinitionOptions, defineJob } from "../../src/job/define-job.js";
import { durationMs } from "../../src/job/duration.js";
import type { InputError } from "../../src/db/errors.js";
import type { JobRecord } from "../../src/db/types.js";
import { useMill } from "../support/mill.js";
import { Unfit, schemaOf } from "../support/schemas.js";
import { invalidArgument } from "../support/steps.js";

const test = useMill();
const stored = async (id: string): Promise<JobRecord> => (await test.mill.jobs.get(id))!.job;

describe("a definition's schemas", () => {
  const size = schemaOf<{ size: string }, { size: number }>((value) => {
    const number = Number((value as { size?: unknown } | null)?.size);
    if (!(number > 0)) throw new Unfit("must be above 0", ["box", 0, { key: "size" }]);
    return { size: number };
  });
  const result = schemaOf<{ ok: boolean }, { ok: boolean; checked: true }>((value) => {
    if (typeof (value as { ok?: unknown } | null)?.ok !== "boolean") throw new Unfit("must be a boolean", ["ok"]);
    return { ok: (value as { ok: boolean }).ok, checked: true };
  });
  const resize = defineJob("resize", { input: size, result });

  it("refuse an input before anything is stored, naming the field [#79 #114]", async () => {
    const queue = await test.queue();
    const refused = {
      name: "InputError",
      code: "MR011",
      issues: [{ path: "box[0].size", message: "must be above 0" }],
    } satisfies Partial<InputError>;
    await expect(test.mill.enqueue(resize, { size: "-1" }, { queue })).rejects.toMatchObject(refused);
    await expect(test.mill.enqueueMany(resize, [{ size: "1" }, { size: "x" }], { queue })).rejects.toMatchObject(
      refused,
    );
    expect(await test.mill.jobs.list({ queue })).toEqual([]);
  });

  it("give the handler what they make of the input, and store what they make of the result [#79 #26]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(resize, ({ input }) => ({ ok: input.size === 3 }))
      .start();
    const { id } = await test.mill.enqueue(resize, { size: "3" }, { queue });
    expect(await test.mill.result(id)).toEqual({ ok: true, checked: true });
    expect((await stored(id)).input).toEqual({ size: "3" });
  });

  it("fail for good a job whose stored input does not fit, without calling its handler; others run [#6]", async () => {
    const queue = await test.queue();
    let calls = 0;
    await test
      .worker(queue)
      .handle(resize, () => {
        calls += 1;
        return { ok: true };
      })
      .start();
    const bad = await test.mill.enqueue("resize", { size: "nothing" }, { queue });
    await expect(test.mill.result(bad)).rejects.toMatchObject({ name: "JobFailedError", state: "failed" });
    expect(await stored(bad.id)).toMatchObject({
      reason: "permanent",
      attempts: 1,
      lastError: { name: "InputError", code: "MR011" },
    });
    expect(calls).toBe(0);
    await test.mill.result(await test.mill.enqueue(resize, { size: "1" }, { queue }));
    expect(calls).toBe(1);
  });

  it("fail for good a job whose result does not fit [#6]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(resize, () => ({ ok: "yes" }) as unknown as { ok: boolean })
      .start();
    const { id } = await test.mill.enqueue(resize, { size: "1" }, { queue });
    await expect(test.mill.result(id)).rejects.toMatchObject({
      message: expect.stringContaining("ok: must be a boolean"),
    });
    expect(await stored(id)).toMatchObject({ reason: "permanent", result: null });
  });

  it("that break themselves are no fault of the input: the job is retried [#31]", async () => {
    const queue = await test.queue();
    let checks = 0;
    const flaky = defineJob("flaky", {
      input: schemaOf((value) => {
        checks += 1;
        if (checks === 2) throw new Error("the rules could not be fetched");
        return value;
      }),
    });
    await test
      .worker(queue)
      .handle(flaky, () => "checked")
      .start();
    const { id } = await test.mill.enqueue(flaky, {}, { queue, retryDelay: 0 });
    expect(await test.mill.result(id)).toBe("checked");
    expect((await stored(id)).attempts).toBe(2);
  });
});

describe("a definition's defaults", () => {
  it("hold for its jobs unless one says otherwise; undefined says nothing [#34 #126]", async () => {
    const queue = await test.queue();
    const job = defineJob("with-defaults", {
      queue,
      priority: 2,
      maxAttempts: 3,
      retryDelay: ["10s", "1m"],
      attemptTimeout: { seconds: 90 },
      ttl: "1h",
    });
    const plain = await stored((await test.mill.enqueue(job, null)).id);
    expect(plain).toMatchObject({ queue, priority: 2, maxAttempts: 3, retry: [10, 60], attemptTimeoutSeconds: 90 });
    expect(plain.expiresAt!.getTime() - plain.runAt.getTime()).toBe(3_600_000);
    expect(await stored((await test.mill.enqueue(job, null, { maxAttempts: 7 })).id)).toMatchObject({
      priority: 2,
      maxAttempts: 7,
    });
    const nothing = { priority: undefined, maxAttempts: undefined } as unknown as object;
    expect(await stored((await test.mill.enqueue(job, null, nothing)).id)).toMatchObject({
      priority: 2,
      maxAttempts: 3,
    });
    const [many] = await test.mill.enqueueMany(job, [null]);
    expect(await stored(many!.id)).toMatchObject({ queue, priority: 2, maxAttempts: 3 });
  });

  it("are those of the documentation when it has none [#126]", async () => {
    const { id } = await test.mill.enqueue(defineJob("plain"), null);
    expect(await stored(id)).toMatchObject({
      queue: "default",
      priority: 5,
      maxAttempts: 25,
      expiresAt: null,
      deadline: null,
      attemptTimeoutSeconds: null,
    });
    expect(await stored((await test.mill.enqueue("plain", null, { maxAttempts: Infinity })).id)).toMatchObject({
      maxAttempts: Infinity,
    });
  });

  it.each<[string, JobDefinitionOptions]>([
    ["no attempts", { maxAttempts: 0 }],
    ["a negative number of attempts", { maxAttempts: -1 }],
    ["half an attempt", { maxAttempts: 1.5 }],
    ["a priority above 10", { priority: 11 }],
    ["an attempt timeout of nothing", { attemptTimeout: 0 }],
    ["a delay that is no duration", { retryDelay: "soon" }],
    ["a delay without anything", { retryDelay: {} }],
    ["an unknown part of a delay", { retryDelay: { base: "1s", max: "1m" } as { base: string } }],
    ["an unknown option", { maxAttempt: 3 } as JobDefinitionOptions],
    ["version 0", { version: 0 }],
    ["a version without its upcasts", { version: 3, upcast: { 1: () => null } }],
    ["a schema that is none", { input: { type: "object" } } as unknown as JobDefinitionOptions],
  ])("refuse %s when it is defined [#34 #126]", (_, options) => {
    expect(() => defineJob("refused", options)).toThrow(expect.objectContaining(invalidArgument));
  });

  it.each([
    ["an empty type", ""],
    ["a type of 201 characters", "x".repeat(201)],
    ["no type", undefined as unknown as string],
  ])("refuse %s", (_, type) => {
    expect(() => defineJob(type)).toThrow(expect.objectContaining(invalidArgument));
  });
});

describe("durations", () => {
  it.each([
    [1500, 1500],
    ["250ms", 250],
    ["5m", 300_000],
    ["1h 30m", 5_400_000],
    ["1.5s", 1500],
    ["2d", 172_800_000],
    [{ minutes: 5 }, 300_000],
    [{ days: 1, hours: 2, seconds: 3, milliseconds: 4 }, 93_603_004],
    [0, 0],
  ])("%j is %d milliseconds", (duration, ms) => {
    expect(durationMs(duration)).toBe(ms);
  });

  it.each([
    -1,
    Number.NaN,
    Infinity,
    "",
    "5",
    "m",
    "5 minutes",
    "-5m",
    "5m!",
    { weeks: 1 },
    { minutes: "5" },
    {},
    null,
    true,
  ])("%j is none", (duration) => {
    expect(() => durationMs(duration as never, "delay")).toThrow(
      expect.objectContaining({ ...invalidArgument, message: expect.stringContaining("delay") }),
    );
  });
});
