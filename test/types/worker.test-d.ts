// Workers: handlers, batches, decisions, events, steps.
import {
  type BatchHandler,
  type ClaimedJob,
  type Context,
  type Decision,
  type Handler,
  type Job,
  type JobId,
  type Json,
  type Signal,
  type Step,
  type Worker,
  defineJob,
  failed,
  inThreads,
  release,
  retryLater,
} from "millrace";
import { EventEmitter, once } from "node:events";
import type pg from "pg";
import type postgres from "postgres";
import { expectTypeOf } from "vitest";
import { z } from "zod";

declare const worker: Worker;
declare const step: Step;
type Size = { width: number; height: number };
const resize = defineJob<{ key: string }, Size>("resize");
const plain = defineJob<{ key: string }>("plain");
const silent = defineJob<{ key: string }, void>("silent");
const checked = defineJob("checked", {
  input: z.object({ at: z.string().transform((text) => new Date(text)) }),
  result: z.object({ label: z.number().transform(String) }),
});

export function handlers(client: pg.PoolClient, typed: Handler<{ key: string }, Size>): void {
  worker
    .handle(resize, async (job, context) => {
      expectTypeOf(job).toEqualTypeOf<Job<{ key: string }, Size>>();
      expectTypeOf(context).toEqualTypeOf<Context>();
      return { width: 1, height: 2 };
    })
    .handle(checked, (job) => ({ label: job.input.at.getTime() }));
  worker.handle(resize, typed, { concurrency: 2, version: 1 });
  worker.handle(resize, () => retryLater("1m"));
  worker.handle(resize, (job) => (job.isLastAttempt ? { width: 1, height: 1 } : release()));
  worker.handle(resize, () => {
    throw new Error("always");
  });
  worker.handle(resize, (job) => job.complete({ width: 1, height: 1 }, { tx: client }));
  worker.handle(resize, inThreads(new URL("file:///resize.js")));
  worker.handle(plain, async () => {});
  worker.handle(plain, () => "whatever");
  worker.handle(silent, async () => {});
  worker.handle(silent, (job) => console.log(job.input.key));
  // @ts-expect-error -- it forgets its result
  worker.handle(resize, async () => {});
  // @ts-expect-error -- it forgets its result in one case
  worker.handle(resize, (job) => (job.attempt > 1 ? { width: 1, height: 1 } : undefined));
  // @ts-expect-error -- height is missing
  worker.handle(resize, () => ({ width: 1 }));
  // @ts-expect-error -- height is missing in the transaction too
  worker.handle(resize, (job) => job.complete({ width: 1 }, { tx: client }));
  // @ts-expect-error -- a job ends in a transaction
  worker.handle(resize, (job) => job.complete({ width: 1, height: 1 }, { tx: {} }));
  // @ts-expect-error -- nothing is returned by this type
  worker.handle(silent, () => 1);
  // @ts-expect-error -- the input has no such field
  worker.handle(plain, (job) => job.input.name);
  // @ts-expect-error -- it is of another type
  worker.handle(checked, typed);
  // @ts-expect-error -- there is no such option
  worker.handle(plain, () => {}, { size: 5 });
  // @ts-expect-error -- a handler belongs to a definition
  worker.handle("plain", () => {});
  expectTypeOf(retryLater("1m")).toEqualTypeOf<Decision>();
}

export function batches(typed: BatchHandler<{ key: string }, Size>): void {
  worker.handleBatch(resize, (jobs) => jobs.map((job) => ({ width: job.input.key.length, height: 1 })), { size: 50 });
  worker.handleBatch(resize, async (jobs) => jobs.map(() => failed(new Error("no"))));
  worker.handleBatch(resize, typed);
  worker.handleBatch(plain, async () => {});
  worker.handleBatch(silent, async () => {});
  // @ts-expect-error -- it forgets the results
  worker.handleBatch(resize, async () => {});
  // @ts-expect-error -- a result is missing
  worker.handleBatch(resize, (jobs) => jobs.map(() => undefined));
  // @ts-expect-error -- a result is wrong
  worker.handleBatch(resize, (jobs) => jobs.map(() => ({ width: "1", height: 1 })));
}

export async function events(): Promise<void> {
  worker
    .on("success", (job, durationSeconds) => {
      expectTypeOf(job).toEqualTypeOf<ClaimedJob>();
      expectTypeOf(durationSeconds).toEqualTypeOf<number>();
    })
    .once("failure", (_job, error, final) => {
      expectTypeOf(error).toEqualTypeOf<unknown>();
      expectTypeOf(final).toEqualTypeOf<boolean>();
    })
    .off("stopped", () => {});
  expectTypeOf(worker.listenerCount("error")).toEqualTypeOf<number>();
  expectTypeOf(worker).toExtend<EventEmitter>();
  await once(worker, "started");
  // @ts-expect-error -- there is no such event
  worker.on("completed", () => {});
  // @ts-expect-error -- there is no such event
  worker.once("failed", () => {});
  // @ts-expect-error -- there is no such event
  worker.addListener("finished", () => {});
  // @ts-expect-error -- there is no such event
  worker.emit("completed");
  // @ts-expect-error -- a failure tells the job first
  worker.on("failure", (error: Error) => error.message);
}

export async function steps(pool: pg.Pool, sql: postgres.Sql): Promise<void> {
  expectTypeOf(await step.run("a", () => 1)).toEqualTypeOf<number>();
  expectTypeOf(await step.run("a", async ({ key, attempt }) => `${key} ${attempt}`)).toEqualTypeOf<string>();
  await step.run("a", async () => ({ id: 1 }), { maxAttempts: 3, undo: ({ id }) => id.toFixed() });
  await step.transaction("b", pool, (tx) => expectTypeOf(tx).toEqualTypeOf<pg.PoolClient>());
  await step.transaction("b", sql, (tx) => tx`select 1`);
  await step.sleep("c", "3d");
  await step.sleepUntil("c", new Date());
  expectTypeOf(await step.waitFor("d", { timeout: "7d" })).toEqualTypeOf<Json | null>();
  expectTypeOf(await step.waitFor<Size>("d")).toEqualTypeOf<Size | null>();
  expectTypeOf(await step.waitFor("d", { schema: z.object({ by: z.string() }) })).toEqualTypeOf<{
    by: string;
  } | null>();
  expectTypeOf(await step.waitFor(["d", "e"])).toEqualTypeOf<Signal | null>();
  expectTypeOf(await step.call("f", resize, { key: "a" })).toEqualTypeOf<Size>();
  expectTypeOf(await step.call("f", checked, { at: "" }, { priority: 1 })).toEqualTypeOf<{ label: string }>();
  expectTypeOf(await step.call("f", "by-name", 1)).toEqualTypeOf<Json>();
  expectTypeOf(await step.call<Size>("f", "by-name", 1)).toEqualTypeOf<Size>();
  expectTypeOf(await step.map("g", resize, [{ key: "a" }])).toEqualTypeOf<Size[]>();
  expectTypeOf(await step.map<Size>("g", "by-name", [1])).toEqualTypeOf<Size[]>();
  expectTypeOf(await step.start("h", resize, { key: "a" })).toEqualTypeOf<JobId>();
  // @ts-expect-error -- the key is a text
  await step.call("f", resize, { key: 1 });
  // @ts-expect-error -- one item is wrong
  await step.map("g", resize, [{ key: "a" }, 1]);
  // @ts-expect-error -- the input is missing
  await step.start("h", resize, null);
  // @ts-expect-error -- the step itself makes its child unique
  await step.call("f", resize, { key: "a" }, { fingerprint: "x" });
  // @ts-expect-error -- any object
  await step.transaction("b", {}, () => {});
  // @ts-expect-error -- of another type than the step gives
  await step.run("a", () => 1, { undo: (value: string) => value });
}

export async function parents(job: Job): Promise<void> {
  expectTypeOf(await job.parents(resize)).toEqualTypeOf<Size[]>();
  expectTypeOf(await job.parents("by-name")).toEqualTypeOf<Json[]>();
  expectTypeOf(await job.parents()).toEqualTypeOf<Json[]>();
}
