import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument } from "../support/steps.js";

const db = useDatabase();

const values: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["an empty object", {}],
  ["an empty array", []],
  ["an empty string", ""],
  ["false", false],
  ["nested values", { a: [{ b: { c: [null, true, "x", [], {}] } }], "": 1, "a.b": 2 }],
  ["unicode", { ключ: 'naïve \u{1F409} \u2028\u2029 "quoted" \\ \n\t\u0001', rtl: "עברית" }],
  ["big numbers as strings", { id: "9223372036854775807", sum: "123456789012345678901234567890.12345" }],
  [
    "numbers at the edges of a double",
    [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, -1.5e-7],
  ],
  ["keys that objects inherit", JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "toString": null}')],
  ["500 levels", Array.from({ length: 500 }).reduce<unknown>((inner) => ({ inner }), "bottom")],
  ["300,000 characters", "ß".repeat(300_000)],
];

describe("JSON input", () => {
  it.each(values)("arrives deep-equal: %s [#79]", async (_, input) => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, input });
    await db.engine.enqueueMany("t", [input], { queue });
    await db.engine.enqueueEach([{ type: "t", queue, input }]);
    expect((await jobOf(db, id)).input).toEqual(input);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual([input, input, input]);
  });

  it.each(values)("comes back deep-equal as a result: %s [#79]", async (_, result) => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    await db.engine.complete(await claimOne(db, queue), result);
    expect((await jobOf(db, id)).result).toEqual(result);
  });

  it.each(values)("reaches a reader of job_claim in SQL too: %s [#79]", async (_, input) => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, input });
    const [row] = await db.sql("select input from job_claim(array[$1])", [queue]);
    expect(row?.["input"]).toEqual(input);
  });

  it.each([
    ["NUL", "a\0b"],
    ["a lone surrogate", "\ud800"],
  ])(
    "with %s is refused, or reaches every reader: it never makes a job that cannot be claimed [#79]",
    async (_, text) => {
      const queue = await newQueue(db);
      const input = { deep: [text] };
      let accepted = 0;
      for (const enqueue of [
        () => db.engine.enqueue({ type: "t", queue, input }),
        () => db.engine.enqueueMany("t", [input], { queue }),
        () => db.engine.enqueueEach([{ type: "t", queue, input }]),
      ]) {
        await enqueue().then(
          () => (accepted += 1),
          (error: unknown) => expect(error).toMatchObject(invalidArgument),
        );
      }
      const rows = await db.sql("select input from job_claim(array[$1], p_limit => 10)", [queue]);
      expect(rows).toEqual(Array.from({ length: accepted }, () => ({ input })));
    },
  );

  it("is null when there is none [#79]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    expect((await claimOne(db, queue)).input).toBeNull();
  });

  it("leaves out members that are undefined, as JSON does [#79]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, input: { kept: 1, absent: undefined } });
    expect((await claimOne(db, queue)).input).toEqual({ kept: 1 });
  });

  const cycle: Record<string, unknown> = {};
  cycle["self"] = { cycle };
  it.each([
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["NaN", Number.NaN],
    ["Infinity", -Infinity],
    ["a cycle", cycle],
    ["a Map", new Map([[1, 2]])],
    ["a Set", new Set([1])],
    ["undefined in an array", [undefined]],
    ["an invalid Date", new Date(Number.NaN)],
    ["bytes", new Uint8Array([1, 2])],
    ["a regular expression", /x/],
    ["a toJSON that gives nothing", { toJSON: () => undefined }],
  ])("refuses what JSON would change or drop: %s [#79]", async (_, value) => {
    const queue = await newQueue(db);
    for (const input of [value, { deep: [value] }]) {
      await expect(db.engine.enqueue({ type: "t", queue, input })).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.enqueueMany("t", [1, input], { queue })).rejects.toMatchObject(invalidArgument);
      await expect(
        db.engine.enqueueEach([
          { type: "t", queue, input: 1 },
          { type: "t", queue, input },
        ]),
      ).rejects.toMatchObject(invalidArgument);
    }
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("says where in the input the refused value is [#79]", async () => {
    await expect(db.engine.enqueueMany("t", [1, { list: [0, { price: 1n }] }])).rejects.toThrow(
      "inputs[1].list[1].price is not JSON: bigint",
    );
  });
});

describe("headers", () => {
  it("arrive as they were sent, null members included", async () => {
    const queue = await newQueue(db);
    const headers = { trace: "00-4bf92f", retries: 0, flags: [], parent: null, baggage: { user: null } };
    await db.engine.enqueue({ type: "t", queue, headers });
    expect((await claimOne(db, queue)).headers).toEqual(headers);
  });
});

describe("binary payload", () => {
  const everyByte = Uint8Array.from({ length: 1024 }, (_, i) => (i * 7) % 256);
  const contentType = "application/x-protobuf; v=1";

  it("arrives with its content type beside the JSON [#80]", async () => {
    const queue = await newQueue(db);
    const job = { type: "t", queue, input: { page: 3 }, payload: everyByte, contentType };
    await db.engine.enqueue(job);
    await db.engine.enqueueEach([job]);
    for (const claimed of await claimAll(db, queue)) {
      expect(claimed).toMatchObject({ input: { page: 3 }, contentType, payloadSize: 1024 });
      expect(Buffer.from(claimed.payload!)).toEqual(Buffer.from(everyByte));
    }
  });

  it.each([
    ["empty", 0],
    ["64 KiB, the largest handed out with the claim", 65_536],
    ["64 KiB and one byte", 65_537],
    ["over two pieces", 1_048_577],
  ])("arrives unchanged: %s [#80]", async (_, size) => {
    const queue = await newQueue(db);
    const payload = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) % 256);
    const { id } = await db.engine.enqueue({ type: "t", queue, payload, contentType });
    const claimed = await claimOne(db, queue);
    expect(claimed).toMatchObject({ contentType, payloadSize: size });
    expect(claimed.payload === undefined).toBe(size > 65_536);
    const pieces: Uint8Array[] = [];
    for await (const piece of db.engine.payloadStream(id)) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(payload)).toBe(true);
  });

  it("is told apart from a job that has none [#80]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, input: 1 });
    expect(await claimOne(db, queue)).not.toHaveProperty("payload");
    expect(await db.engine.payloadRead(id)).toBeNull();
  });
});
