import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import type { Millrace } from "../../src/client/millrace.js";
import type { Engine } from "../../src/db/engine.js";
import type { Transaction } from "../../src/db/foreign.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, recorded } from "../support/steps.js";

const test = useMill();
const work = defineJob("work");
/** A value no type checker would let through. */
const loose = (value: unknown): never => value as never;
const half = "a\ud83d";

/** Refused with a class, a code and a remedy, and without a word to the database. */
async function isRefused(act: (tx: Transaction) => Promise<unknown>): Promise<void> {
  const client = await test.db.connect();
  const tx = recorded(client);
  await expect(act(tx)).rejects.toMatchObject({ ...invalidArgument, remedy: expect.stringMatching(/./) as unknown });
  expect(tx.statements).toEqual([]);
  await client.end();
}

const circle: Record<string, unknown> = {};
circle["again"] = [circle];
const endless = { toJSON: (): unknown => ({ next: endless }) };
const deep = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], "bottom");
class Hidden {
  readonly #secret = 1;
  secret(): number {
    return this.#secret;
  }
}

describe("an input", () => {
  it.each<[string, unknown]>([
    ["whose toJSON never ends", endless],
    [
      "whose toJSON throws",
      {
        toJSON() {
          throw new TypeError("not me");
        },
      },
    ],
    [
      "whose getter throws",
      {
        get broken() {
          throw new Error("not me either");
        },
      },
    ],
    ["with a bigint", { n: 1n }],
    ["that is a boxed bigint", Object(1n)],
    ["that contains itself", circle],
    ["with more than 500 levels", deep(501)],
    ["with half a surrogate pair", { text: half }],
    ["with half a surrogate pair in a key", { [half]: 1 }],
    ["with NUL in a key", { "a\0": 1 }],
    ["that is an Error", new Error("lost")],
    ["with an Error of another realm", { error: runInNewContext("new TypeError('lost')") as unknown }],
    ["with an Error that has a code", { error: Object.assign(new Error("lost"), { code: "E" }) }],
    ["that is a Map", new Map([[1, 2]])],
    ["that is a Set of another realm", runInNewContext("new Set([1])")],
    ["that is a promise", Promise.resolve(1)],
    ["that is a function", () => 1],
    ["that is a symbol", Symbol("s")],
    ["of a class that hides all it has", new Hidden()],
    ["that is a boxed NaN", Object(Number.NaN)],
  ])("%s is refused", async (_, input) => {
    for (const value of [input, { inside: [input] }]) {
      await isRefused((tx) => test.mill.enqueue(work, value, { tx }));
      await isRefused((tx) => test.mill.enqueue("work", value, { tx }));
      await isRefused((tx) => test.mill.enqueueMany(work, [1, value], { tx }));
      await isRefused((tx) => test.mill.engine.enqueueEach([{ type: "work", input: value }], { tx }));
    }
    await isRefused((tx) => test.mill.enqueue(work, null, { tx, headers: loose({ h: input }) }));
  });

  it.each<[string, unknown, unknown]>([
    ["with 500 levels", deep(500), deep(500)],
    ["whose toJSON gives itself", { toJSON: () => same, n: 1 }, { n: 1 }],
    ["of boxed values", [Object("text"), Object(1), Object(true)], ["text", 1, true]],
    ["of a class with fields", Object.assign(new Hidden(), { n: 1 }), { n: 1 }],
    ["without a prototype", Object.create(null), {}],
    ["of another realm", runInNewContext("({})"), {}],
    ["that only looks like half a pair", "\\ud83d", "\\ud83d"],
  ])("%s is taken", async (_, input, stored) => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(work, input, { queue });
    expect((await test.mill.jobs.get(id))!.job.input).toEqual(stored);
  });
  const same = { n: 1 };
});

describe("an option", () => {
  it.each<[string, object]>([
    ...["type", "queue", "group", "tenant", "fingerprint", "contentType", "stage"].map((name): [string, object] => [
      `${name} with half a surrogate pair`,
      { [name]: half },
    ]),
    ["a group that is no text", { group: {} }],
    ["a tenant that is a number", { tenant: 7 }],
    ["a priority that is a text", { priority: "1" }],
    ["a priority that is a bigint", { priority: 1n }],
    ["a payload that is a text", { payload: "x" }],
    ["a payload that is a list", { payload: [1, 2] }],
    ["headers that are a text", { headers: "x" }],
    ["headers that are a list", { headers: [1] }],
    ["a header with half a surrogate pair", { headers: { h: half } }],
    ["a header's name with half a surrogate pair", { headers: { [half]: 1 } }],
    ["a fingerprint that is a symbol", { fingerprint: Symbol("f") }],
    ["a delay of null", { delay: null }],
    ["a delay that is a bigint", { delay: 1n }],
    ["a delay of more than 1e9 s", { delay: { days: 12_000 } }],
    ["a retryDelay of null", { retryDelay: null }],
    ["a retryDelay with null", { retryDelay: [null] }],
    ["a retryDelay of more than 1e9 s", { retryDelay: { base: "1s", cap: "12000d" } }],
    ["a retryDelay that contains itself", { retryDelay: circle }],
    ...["runAt", "expiresAt", "deadline"].flatMap((name): [string, object][] => [
      [`${name} in the year 275760`, { [name]: new Date(8.64e15) }],
      [`${name} before 1970`, { [name]: new Date(-1) }],
      [`${name} of "tomorrow"`, { [name]: "tomorrow" }],
      [`${name} of "infinity"`, { [name]: "infinity" }],
      [`${name} on the 30th of February`, { [name]: "2030-02-30T00:00:00Z" }],
      [`${name} that is a number`, { [name]: 1 }],
    ]),
  ])("%s is refused", async (_, options) => {
    const { type = work, ...rest } = options as { type?: string };
    await isRefused((tx) => test.mill.enqueue(type, null, { tx, ...rest }));
  });

  it("of the engine is refused too", async () => {
    const { engine } = test.mill;
    await isRefused((tx) => engine.enqueue({ type: "t", delaySeconds: 1e9 + 1 }, { tx }));
    await isRefused((tx) => engine.enqueue({ type: "t", retry: [1, 2e9] }, { tx }));
    await isRefused((tx) => engine.enqueueEach([{ type: "t", payload: loose("x") }], { tx }));
    await isRefused((tx) => engine.queuePut("q", { leaseSeconds: 2e9 }, { tx }));
    await isRefused((tx) => engine.claim({ queues: [half] }, { tx }));
    await isRefused((tx) => engine.cancelWhere({ tenant: half }, { tx }));
  });

  it.each([
    "2030-01-01",
    "2030-01-01T12:00Z",
    "2030-01-01 12:00:00.123456+00",
    "2030-01-01T12:00:00+0530",
    new Date("9999-12-31T23:59:59.999Z"),
  ])("a time of %s is taken", async (runAt) => {
    const queue = await test.queue();
    await expect(test.mill.engine.enqueue({ type: "t", queue, runAt })).resolves.toMatchObject({ duplicate: false });
  });
});

describe("an argument", () => {
  it.each<[string, (mill: Millrace, engine: Engine, tx: Transaction) => Promise<unknown>]>([
    ["options null of enqueue", (mill) => mill.enqueue(work, 1, loose(null))],
    ["options null of enqueueMany", (mill) => mill.enqueueMany(work, [1], loose(null))],
    ["options null of schedule", (mill) => mill.schedule("s", { every: "1h" }, work, 1, loose(null))],
    ["options null of cancel", (mill) => mill.cancel("1", loose(null))],
    ["options null of retry", (mill) => mill.retry("1", loose(null))],
    ["options null of result", (mill) => mill.result("1", loose(null))],
    ["options null of list", (mill) => mill.jobs.list(loose(null))],
    ["options null of a list of schedules", (mill) => mill.schedules.list(loose(null))],
    ["options null of runs", (mill) => mill.schedules.runs("s", loose(null))],
    ["a note of null", (mill) => mill.jobs.discard("1", loose(null))],
    ["options that are a list", (mill) => mill.enqueue(work, 1, loose([]))],
    ["inputs null", (mill, _, tx) => mill.enqueueMany(work, loose(null), { tx })],
    ["inputs that are a text", (mill, _, tx) => mill.enqueueMany(work, "abc", { tx })],
    ["inputs that are bytes", (mill, _, tx) => mill.enqueueMany(work, Buffer.from("abc"), { tx })],
    ["inputs that are a number", (mill, _, tx) => mill.enqueueMany(work, loose(3), { tx })],
    ["inputs that are an object", (mill, _, tx) => mill.enqueueMany(work, loose({ length: 1 }), { tx })],
    ["inputs null of the engine", (_, engine, tx) => engine.enqueueMany("t", loose(null), {}, { tx })],
    ["jobs null of the engine", (_, engine, tx) => engine.enqueueEach(loose(null), { tx })],
    ["a job null of the engine", (_, engine, tx) => engine.enqueue(loose(null), { tx })],
    ["ids null", (_, engine, tx) => engine.cancel(loose(null), undefined, { tx })],
    ["ids that are a text", (_, engine, tx) => engine.cancel(loose("123"), undefined, { tx })],
    ["a job null to cancel", (mill, _, tx) => mill.cancel(loose(null), { tx })],
    ["a job null to complete", (_, engine, tx) => engine.complete(loose(null), 1, { tx })],
    ["a job null for its progress", (_, engine, tx) => engine.progressPut(loose(null), 1, { tx })],
    ["an id that is a symbol", (mill, _, tx) => mill.cancel(loose(Symbol("id")), { tx })],
  ])("%s is refused", async (_, act) => {
    await isRefused((tx) => act(test.mill, test.mill.engine, tx));
  });

  it("options null of a definition, a worker and a client are refused", () => {
    const refused = expect.objectContaining(invalidArgument) as Error;
    expect(() => defineJob("t", loose(null))).toThrow(refused);
    expect(() => defineJob(half)).toThrow(refused);
    expect(() => test.mill.worker(loose(null))).toThrow(refused);
    expect(() => test.open(loose({ connection: test.db.url, schema: 7 }))).toThrow(refused);
  });
});
