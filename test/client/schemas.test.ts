import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type AnyJobDefinition, type JobDefinition, defineJob } from "../../src/job/define-job.js";
import { InputError } from "../../src/db/errors.js";
import type { JobRecord } from "../../src/db/types.js";
import { jobOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const { db } = test;

const withZod = defineJob("with-zod", {
  input: z.object({
    user: z.object({ email: z.email() }),
    items: z.array(z.object({ count: z.number().min(1) })),
    size: z.string().transform(Number),
    at: z.iso.datetime().transform((text) => new Date(text)),
    note: z.string().default("none"),
  }),
  result: z.object({ width: z.number().min(1), label: z.string().transform((text) => text.length) }),
});

const withValibot = defineJob("with-valibot", {
  input: v.object({
    user: v.object({ email: v.pipe(v.string(), v.email()) }),
    items: v.array(v.object({ count: v.pipe(v.number(), v.minValue(1)) })),
    size: v.pipe(v.string(), v.transform(Number)),
    at: v.pipe(
      v.string(),
      v.isoTimestamp(),
      v.transform((text) => new Date(text)),
    ),
    note: v.optional(v.string(), "none"),
  }),
  result: v.object({
    width: v.pipe(v.number(), v.minValue(1)),
    label: v.pipe(
      v.string(),
      v.transform((text) => text.length),
    ),
  }),
});

const withArktype = defineJob("with-arktype", {
  input: type({
    user: { email: "string.email" },
    items: type({ count: "number >= 1" }).array(),
    size: "string.numeric.parse",
    at: "string.date.iso.parse",
    note: "string = 'none'",
  }),
  result: type({ width: "number >= 1", label: type("string").pipe((text) => text.length) }),
});

interface Given {
  user: { email: string };
  items: { count: number }[];
  size: string;
  at: string;
  note?: string | undefined;
}
interface Parsed {
  user: { email: string };
  items: { count: number }[];
  size: number;
  at: Date;
  note: string;
}

const given: Given = {
  user: { email: "a@example.com" },
  items: [{ count: 1 }, { count: 2 }],
  size: "12",
  at: "2026-01-02T03:04:05.678Z",
};
const parsed: Parsed = { ...given, size: 12, at: new Date("2026-01-02T03:04:05.678Z"), note: "none" };
const unfit = { ...given, user: { email: "nobody" }, items: [{ count: 1 }, { count: 0 }] };
const unfitPaths = ["items[1].count", "user.email"];

const pathsOf = (error: InputError): string[] => error.issues.map(({ path }) => path).sort();
const ended = (job: JobRecord): boolean => /succeeded|failed/.test(job.state);

async function inputErrorOf(call: Promise<unknown>): Promise<InputError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof InputError)) throw new Error("an InputError was expected", { cause: error });
  return error;
}

/** Store one job by its type's name, which checks nothing; run it with this handler; return it when it has ended. */
async function run(
  definition: AnyJobDefinition,
  input: unknown,
  handler: (job: { input: unknown }) => unknown,
): Promise<JobRecord> {
  const queue = await test.queue();
  const worker = test.worker(queue);
  worker.handle(definition as JobDefinition, handler);
  const { id } = await test.mill.enqueue(definition.type, input, { queue, retryDelay: 0 });
  await worker.start();
  await until("the job's end", async () => ended(await jobOf(db, id)));
  await worker.stop();
  return jobOf(db, id);
}

describe.each<[string, AnyJobDefinition]>([
  ["zod", withZod],
  ["valibot", withValibot],
  ["arktype", withArktype],
])("a schema of %s", (_, definition) => {
  it("refuses an input at enqueue, naming the fields; nothing is stored [#79]", async () => {
    const queue = await test.queue();
    const one = await inputErrorOf(test.mill.enqueue(definition, unfit, { queue }));
    expect(pathsOf(one)).toEqual(unfitPaths);
    expect(one).toMatchObject({ code: "MR011", message: expect.stringContaining("user.email") });
    expect(pathsOf(await inputErrorOf(test.mill.enqueueMany(definition, [given, unfit], { queue })))).toEqual(
      unfitPaths,
    );
    expect(pathsOf(await inputErrorOf(test.mill.enqueue(definition, { ...given, at: undefined }, { queue })))).toEqual([
      "at",
    ]);
    expect(pathsOf(await inputErrorOf(test.mill.enqueue(definition, "no object", { queue })))).toEqual([""]);
    expect(await db.engine.list({ queue })).toEqual([]);
  });

  it("stores the input as it was given, and gives its handler what it makes of it [#79]", async () => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(definition, given, { queue });
    const [many] = await test.mill.enqueueMany(definition, [given], { queue });
    expect((await jobOf(db, id)).input).toEqual(given);
    expect((await jobOf(db, many!.id)).input).toEqual(given);
    const seen: unknown[] = [];
    await run(definition, given, (job) => {
      seen.push(job.input);
      return { width: 1, label: "abc" };
    });
    expect(seen).toStrictEqual([parsed]);
  });

  it("fails a stored job that does not fit at once and for good, before its handler [#6]", async () => {
    let calls = 0;
    const job = await run(definition, unfit, () => (calls += 1));
    expect(calls).toBe(0);
    expect(job).toMatchObject({
      state: "failed",
      attempts: 1,
      maxAttempts: 25,
      lastError: { name: "InputError", code: "MR011" },
    });
    for (const path of unfitPaths) expect((job.lastError as { message: string }).message).toContain(path);
  });

  it("takes out of a batch only the jobs that do not fit [#6]", async () => {
    const queue = await test.queue();
    const batches: unknown[][] = [];
    const worker = test.worker(queue);
    worker.handleBatch(definition as JobDefinition, (jobs) => void batches.push(jobs.map((job) => job.input)));
    const made = await test.mill.enqueueMany(definition.type, [given, unfit, given], { queue });
    await worker.start();
    const states = async (): Promise<string[]> => Promise.all(made.map(async ({ id }) => (await jobOf(db, id)).state));
    await until("the end of all", async () => (await states()).every((state) => /succeeded|failed/.test(state)));
    expect(batches.flat()).toStrictEqual([parsed, parsed]);
    expect((await states())[1]).toBe("failed");
  });

  it("stores what it makes of a result [#79]", async () => {
    expect(await run(definition, given, () => ({ width: 1, label: "four" }))).toMatchObject({
      state: "succeeded",
      result: { width: 1, label: 4 },
    });
  });

  it("fails a job for good whose result does not fit, naming the field [#6]", async () => {
    const job = await run(definition, given, () => ({ width: 0, label: "x" }));
    expect(job).toMatchObject({
      state: "failed",
      attempts: 1,
      result: null,
      lastError: { code: "MR011", message: expect.stringContaining("width") },
    });
  });

  it("holds for a result that a handler completes in its own transaction [#6]", async () => {
    const complete = (result: { width: number; label: string }) => async (job: { input: unknown }) => {
      const tx = await db.pool.connect();
      try {
        await tx.query("begin");
        await (job as unknown as { complete(result: unknown, options: { tx: object }): Promise<void> }).complete(
          result,
          { tx },
        );
        await tx.query("commit");
      } finally {
        await tx.query("rollback");
        tx.release();
      }
    };
    expect(await run(definition, given, complete({ width: 1, label: "four" }))).toMatchObject({
      state: "succeeded",
      result: { width: 1, label: 4 },
    });
    expect(await run(definition, given, complete({ width: 0, label: "x" }))).toMatchObject({
      state: "failed",
      attempts: 1,
      lastError: { code: "MR011" },
    });
  });
});

describe("what is stored is JSON", () => {
  it.each<[string, AnyJobDefinition]>([
    ["zod", defineJob("date-zod", { input: z.object({ at: z.date() }) })],
    ["valibot", defineJob("date-valibot", { input: v.object({ at: v.date() }) })],
    ["arktype", defineJob("date-arktype", { input: type({ at: "Date" }) })],
  ])(
    "so an input that only fits before it is stored is refused at enqueue, not in the worker: %s [#79]",
    async (_, definition) => {
      const queue = await test.queue();
      expect(pathsOf(await inputErrorOf(test.mill.enqueue(definition, { at: new Date() }, { queue })))).toEqual(["at"]);
      expect(pathsOf(await inputErrorOf(test.mill.enqueueMany(definition, [{ at: new Date() }], { queue })))).toEqual([
        "at",
      ]);
      expect(await db.engine.list({ queue })).toEqual([]);
    },
  );

  it.each<[string, AnyJobDefinition]>([
    ["zod", defineJob("coerced-zod", { input: z.object({ at: z.coerce.date() }) })],
    [
      "valibot",
      defineJob("coerced-valibot", { input: v.object({ at: v.pipe(v.union([v.string(), v.date()]), v.toDate()) }) }),
    ],
    ["arktype", defineJob("coerced-arktype", { input: type({ at: "string.date.parse | Date" }) })],
  ])("so a schema that takes both forms gives its handler the value back: %s [#79]", async (_, definition) => {
    const seen: unknown[] = [];
    const at = new Date("2026-01-02T03:04:05.678Z");
    const queue = await test.queue();
    await test.mill.enqueue(definition, { at }, { queue });
    await run(definition, { at }, (job) => void seen.push(job.input));
    expect(seen).toStrictEqual([{ at }]);
  });

  it("so what JSON cannot carry is refused as without a schema [#79]", async () => {
    const anything = defineJob("anything", { input: z.any() });
    await expect(test.mill.enqueue(anything, { deep: [new Map()] })).rejects.toMatchObject({
      code: "MR001",
      message: expect.stringContaining("input.deep[0]"),
    });
  });
});

describe("schemas that look elsewhere", () => {
  it.each<[string, AnyJobDefinition]>([
    [
      "zod",
      defineJob("async-zod", { input: z.object({ key: z.string().refine(async (key) => key !== "gone", "is gone") }) }),
    ],
    [
      "valibot",
      defineJob("async-valibot", {
        input: v.objectAsync({
          key: v.pipeAsync(
            v.string(),
            v.checkAsync(async (key) => key !== "gone", "is gone"),
          ),
        }),
      }),
    ],
  ])("are waited for: %s", async (_, definition) => {
    const error = await inputErrorOf(test.mill.enqueue(definition, { key: "gone" }));
    expect(error.issues).toEqual([{ path: "key", message: "is gone" }]);
    expect(await run(definition, { key: "gone" }, () => {})).toMatchObject({ state: "failed", attempts: 1 });
    expect(await run(definition, { key: "here" }, () => {})).toMatchObject({ state: "succeeded" });
  });
});

describe("a definition", () => {
  it("brings an input of an older version up before its schema sees it", async () => {
    const seen: unknown[] = [];
    const definition = defineJob("versioned", {
      version: 2,
      input: z.object({ size: z.string().transform(Number) }),
      upcast: { 1: (old: { width: number }) => ({ size: String(old.width) }) },
    });
    await run(definition, { width: 7 }, (job) => void seen.push(job.input));
    expect(seen).toEqual([{ size: 7 }]);
  });

  it.each([
    ["an object", {}],
    ["a function", () => true],
    ["null", null],
    ["another version of the standard", { "~standard": { version: 2 } }],
  ])("refuses %s in place of a schema", (_, schema) => {
    expect(() => defineJob("t", { input: schema as never })).toThrow(
      expect.objectContaining({ code: "MR001", message: expect.stringContaining("input") }),
    );
    expect(() => defineJob("t", { input: z.any(), result: schema as never })).toThrow(
      expect.objectContaining({ code: "MR001", message: expect.stringContaining("result") }),
    );
  });
});

describe("types", () => {
  interface GivenResult {
    width: number;
    label: string;
  }
  interface StoredResult {
    width: number;
    label: number;
  }

  it("are those of the schemas: what is given, what the handler gets, what it returns, what is stored", () => {
    expectTypeOf<NonNullable<(typeof withZod)["types"]>>().toEqualTypeOf<{
      readonly in: Given;
      readonly parsed: Parsed;
      readonly out: GivenResult;
      readonly result: StoredResult;
    }>();
    expectTypeOf<NonNullable<(typeof withValibot)["types"]>>().toEqualTypeOf<{
      readonly in: Given;
      readonly parsed: Parsed;
      readonly out: GivenResult;
      readonly result: StoredResult;
    }>();
    expectTypeOf<NonNullable<(typeof withArktype)["types"]>["parsed"]>().toEqualTypeOf<Parsed>();
    expectTypeOf<NonNullable<(typeof withArktype)["types"]>["out"]>().toEqualTypeOf<GivenResult>();
    expectTypeOf<NonNullable<(typeof withArktype)["types"]>["result"]>().toEqualTypeOf<StoredResult>();
    expectTypeOf<Omit<Given, "note">>().toExtend<Omit<NonNullable<(typeof withArktype)["types"]>["in"], "note">>();
  });

  it("hold for enqueue and for handlers", () => {
    const { mill } = test;
    const calls = (): void => {
      void mill.enqueue(withZod, given);
      void mill.enqueueMany(withArktype, [{ ...given, note: "x" }]);
      // @ts-expect-error -- size is given as text
      void mill.enqueue(withZod, { ...given, size: 12 });
      // @ts-expect-error -- items is missing
      void mill.enqueue(withValibot, { user: given.user, size: "12", at: given.at });
      // @ts-expect-error -- size is given as text
      void mill.enqueueMany(withArktype, [{ ...given, size: 12 }]);
      mill.worker().handle(withZod, (job) => {
        expectTypeOf(job.input).toEqualTypeOf<Parsed>();
        return { width: 1, label: "x" };
      });
      mill.worker().handle(withValibot, async (job) => {
        expectTypeOf(job.input).toEqualTypeOf<Parsed>();
        return job.complete({ width: 1, label: "x" }, { tx: await test.db.connect() });
      });
      mill
        .worker()
        .handleBatch(withArktype, (jobs) => jobs.map((job) => ({ width: job.input.size, label: job.input.note })));
      // @ts-expect-error -- the handler returns label as text
      mill.worker().handle(withZod, () => ({ width: 1, label: 1 }));
      // @ts-expect-error -- the handler returns label as text
      mill.worker().handleBatch(withArktype, (jobs) => jobs.map(() => ({ width: 1, label: 1 })));
    };
    expect(calls).toBeTypeOf("function");
  });
});
