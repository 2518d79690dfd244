import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type AnyJobDefinition, defineJob } from "../../src/job/define-job.js";
import { Millrace } from "../../src/client/with-workers.js";
import type { JobDetails } from "../../src/db/types.js";
import type { HandlerOptions } from "../../src/worker/handler.js";
import type { WorkerOptions } from "../../src/worker/worker-options.js";
import { useMill } from "../support/mill.js";
import { databaseUnavailable, invalidArgument, queueNotFound, schemaVersion } from "../support/steps.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");

/** What becomes of one job with this handler; a second job shows that the worker goes on. */
async function ends(handler: Parameters<ReturnType<typeof test.worker>["handle"]>[1]): Promise<JobDetails> {
  const queue = await test.queue();
  const worker = test
    .worker(queue, { concurrency: 2 })
    .handle(work, handler)
    .handle(defineJob("next"), () => "next");
  worker.on("error", () => {});
  await worker.start();
  const { id } = await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 });
  await test.mill.result(id).catch(() => {});
  expect(await test.mill.result(await test.mill.enqueue("next", null, { queue }), { timeout: "30s" })).toBe("next");
  await worker.stop();
  expect(worker.held).toBe(0);
  return (await test.mill.jobs.get(id))!;
}

describe("a handler that", () => {
  it("throws synchronously fails with message and stack [#141]", async () => {
    const { job } = await ends(() => {
      throw new RangeError("out of range");
    });
    expect(job).toMatchObject({
      state: "failed",
      lastError: { name: "RangeError", message: "out of range", stack: expect.stringContaining("bad-input.test") },
    });
  });

  it.each([
    ["a string", "just text", "just text"],
    ["undefined", undefined, "thrown: undefined"],
    ["null", null, "thrown: null"],
    ["a number", 42, "thrown: 42"],
    ["a bigint", 42n, "thrown: 42n"],
    ["a symbol", Symbol("s"), "thrown: Symbol(s)"],
    ["an object", { message: "no error" }, "thrown: { message: 'no error' }"],
    [
      "an object without a prototype",
      Object.assign(Object.create(null), { text: "odd" }),
      "thrown: [Object: null prototype] { text: 'odd' }",
    ],
  ])("rejects with %s fails with a message that shows it [#141]", async (_, thrown, message) => {
    const { job } = await ends(() => Promise.reject(thrown));
    expect(job).toMatchObject({ state: "failed", lastError: { message } });
  });

  it("throws an error of another realm fails with its message and stack [#141]", async () => {
    const { job } = await ends(() => {
      throw runInNewContext("new TypeError('from elsewhere')") as Error;
    });
    expect(job).toMatchObject({
      state: "failed",
      lastError: { name: "TypeError", message: "from elsewhere", stack: expect.any(String) },
    });
  });

  it("throws from a timer fails with message and stack, and the worker survives [#141]", async () => {
    const { job } = await ends(async (_, { signal }) => {
      setTimeout(() => {
        throw new Error("from a timer");
      }, 10);
      await once(signal, "abort");
      await sleep(10);
    });
    expect(job).toMatchObject({
      state: "failed",
      lastError: { message: "from a timer", stack: expect.stringContaining("bad-input.test") },
    });
  });

  it("forgets a promise that rejects fails with its reason [#141]", async () => {
    const { job } = await ends(async (_, { signal }) => {
      void Promise.reject(new Error("nobody awaited me"));
      await once(signal, "abort");
    });
    expect(job).toMatchObject({ state: "failed", lastError: { message: "nobody awaited me" } });
  });

  it("throws from a timer after it has returned keeps its success; the error becomes a warning [#141]", async () => {
    const warning = once(process, "warning");
    const { job } = await ends(() => {
      setTimeout(() => {
        throw new Error("an afterthought");
      }, 50);
      return "done";
    });
    expect(job).toMatchObject({ state: "succeeded", result: "done" });
    expect(await warning).toMatchObject([{ message: "an afterthought" }]);
  });

  it.each<[string, unknown]>([
    ["a function", () => {}],
    ["a bigint", 1n],
    ["a Map", new Map([[1, 2]])],
    ["NaN inside", { deep: [Number.NaN] }],
    ["NUL in a string", { text: "a\0b" }],
    [
      "an object whose toJSON throws",
      {
        toJSON() {
          throw new Error("not me");
        },
      },
    ],
  ])("returns %s fails, and holds up nobody else [#79 #141]", async (_, result) => {
    const { job } = await ends(() => result);
    expect(job).toMatchObject({
      state: "failed",
      result: null,
      lastError: { message: expect.stringContaining("could not be stored") },
    });
  });

  it("returns a circular value fails, and holds up nobody else [#79 #141]", async () => {
    const { job } = await ends(() => {
      const circle: Record<string, unknown> = {};
      circle["self"] = circle;
      return circle;
    });
    expect(job).toMatchObject({ state: "failed", lastError: { message: expect.stringContaining("contains itself") } });
  });
});

describe("a worker refuses", () => {
  const refused = (attempt: () => unknown) => expect(attempt).toThrow(expect.objectContaining(invalidArgument));

  it("a second handler of one type [#116]", async () => {
    const worker = test.worker(await test.queue()).handle(work, () => {});
    refused(() => worker.handle(work, () => {}));
    refused(() => worker.handleBatch(defineJob("work"), () => []));
  });

  it("handlers after its start, and start without any [#116]", async () => {
    const queue = await test.queue();
    await expect(test.worker(queue).start()).rejects.toMatchObject(invalidArgument);
    const worker = test.worker(queue).handle(work, () => {});
    await worker.start();
    refused(() => worker.handle(defineJob("other"), () => {}));
  });

  it("what is neither definition nor handler", async () => {
    const worker = test.worker(await test.queue());
    refused(() => worker.handle("work" as unknown as AnyJobDefinition, () => {}));
    refused(() => worker.handle(undefined as unknown as AnyJobDefinition, () => {}));
    refused(() => worker.handle(work, "handler" as never));
    refused(() => worker.handle(work, () => {}, { concurency: 1 } as HandlerOptions));
    refused(() => worker.handle(work, () => {}, { concurrency: 0 }));
    refused(() => worker.handleBatch(work, () => [], { size: 0 }));
    refused(() => worker.handleBatch(work, () => [], { size: 1.5 }));
    refused(() => (worker.concurrency = 0));
  });

  it.each<[string, WorkerOptions]>([
    ["an unknown option", { concurency: 5 } as WorkerOptions],
    ["no queue", { queues: [] }],
    ["queues that are no list", { queues: "default" as unknown as string[] }],
    ["concurrency 0", { concurrency: 0 }],
    ["half a handler", { concurrency: 1.5 }],
    ["negative prefetch", { prefetch: -1 }],
    ["prefetch that is no number", { prefetch: "lots" as "auto" }],
    ["maxPrefetch above what one claim takes", { maxPrefetch: 10_000 }],
    ["a lease nobody can keep", { lease: 1 }],
    ["a lease that is no duration", { lease: "soon" }],
    ["a poll interval of nothing", { pollInterval: 0 }],
    ["a negative grace period", { grace: -1 }],
    ["an endless grace period", { grace: Infinity }],
  ])("%s [#34]", (_, options) => {
    refused(() => test.mill.worker(options));
  });

  it("an unknown option of stop()", async () => {
    await expect(test.worker(await test.queue()).stop({ forced: true } as object)).rejects.toMatchObject(
      invalidArgument,
    );
  });

  it("to start on a queue that is not there", async () => {
    await expect(
      test
        .worker("nowhere")
        .handle(work, () => {})
        .start(),
    ).rejects.toMatchObject(queueNotFound);
  });
});

describe("a database that is not there", () => {
  it.each([
    ["nobody listens", (url: URL) => (url.port = "1")],
    ["there is no such database", (url: URL) => (url.pathname = "/nowhere")],
    ["there is no such host", (url: URL) => (url.hostname = "nowhere.invalid")],
  ])("is told with the remedy: %s", async (_, change) => {
    const url = new URL(test.db.url);
    change(url);
    const mill = test.open({ connection: url.href });
    const remedy = expect.stringContaining("DATABASE_URL");
    await expect(mill.enqueue(work, {})).rejects.toMatchObject({
      ...databaseUnavailable,
      remedy,
      message: expect.stringMatching(/(not available|refused the connection): \S/),
    });
    const worker = mill.worker().handle(work, () => {});
    await expect(worker.start()).rejects.toMatchObject(databaseUnavailable);
    await worker.stop();
  });

  it("is told as a missing schema when nothing was installed", async () => {
    const url = new URL(test.db.url);
    url.pathname = "/postgres";
    const mill = test.open({ connection: url.href });
    await expect(mill.enqueue(work, {})).rejects.toMatchObject(schemaVersion);
    await expect(
      mill
        .worker()
        .handle(work, () => {})
        .start(),
    ).rejects.toMatchObject(schemaVersion);
  });

  it("is asked for when none is given", () => {
    const given = process.env["DATABASE_URL"];
    delete process.env["DATABASE_URL"];
    try {
      expect(() => new Millrace()).toThrow(
        expect.objectContaining({ ...invalidArgument, message: expect.stringContaining("DATABASE_URL") }),
      );
    } finally {
      if (given !== undefined) process.env["DATABASE_URL"] = given;
    }
  });

  it.each(["http://localhost:99999/", "postgres://user@:port/db"])(
    "is refused when %s is no connection string",
    (connection) => {
      expect(() => test.open({ connection })).toThrow(
        expect.objectContaining({ ...invalidArgument, remedy: expect.stringContaining("DATABASE_URL") }),
      );
    },
  );
});
