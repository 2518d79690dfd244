import { describe, expect, it, vi } from "vitest";
import { defineJob } from "../job/define-job.js";
import type { Engine } from "../db/engine.js";
import type { ClaimedJob } from "../db/types.js";
import { Dispatcher } from "./dispatcher.js";
import { type WorkerOptions, checkWorkerOptions } from "./worker-options.js";

const concurrency = 10;
const prefetch = 1000;

function makeDispatcher(handler: () => unknown, options: WorkerOptions = {}): Dispatcher {
  const settings = checkWorkerOptions({ concurrency, prefetch: prefetch / concurrency, ...options }, "test");
  const hooks = { onStart: () => {}, onOutcome: () => {}, onAbandoned: () => {}, onChange: () => {} };
  const dispatcher = new Dispatcher(settings, {} as Engine, undefined, undefined, hooks);
  dispatcher.register({ definition: defineJob("noop"), run: { one: handler }, size: 1, concurrency: undefined });
  return dispatcher;
}

function makeJobs(count: number): ClaimedJob[] {
  const now = new Date();
  return Array.from({ length: count }, (_, i) => ({
    id: String(i + 1),
    token: "00000000-0000-4000-8000-000000000000",
    queue: "default",
    type: "noop",
    priority: 5,
    attempt: 1,
    maxAttempts: 25,
    input: null,
    createdAt: now,
    claimedAt: now,
    leaseEndsAt: new Date(now.getTime() + 30_000),
    alone: false,
  }));
}

const limits = (dispatcher: Dispatcher): (number | undefined)[] =>
  dispatcher.wanted({ queues: ["default"], worker: "test" }).map(({ claim }) => claim.limit);

describe("the dispatcher", () => {
  it("asks for half of the prefetch at a time, and never for more than it may hold", () => {
    const dispatcher = makeDispatcher(() => new Promise(() => {}));
    dispatcher.accept(makeJobs(concurrency), performance.now());
    expect(limits(dispatcher)).toEqual([concurrency + prefetch / 2]);
    expect(limits(dispatcher)).toEqual([prefetch / 2 - concurrency]); // while the first claim is on its way
    expect(limits(dispatcher)).toEqual([]);
  });

  it("lets the next claim go out before many jobs start, and starts few at once", async () => {
    let started = 0;
    const dispatcher = makeDispatcher(() => void (started += 1));
    dispatcher.accept(makeJobs(300), performance.now());
    expect(started).toBe(0);
    expect(limits(dispatcher)).toEqual([concurrency + prefetch / 2]);
    await vi.waitFor(() => expect(started).toBe(300));
    dispatcher.accept(makeJobs(5), performance.now());
    expect(started).toBe(305);
  });

  it("does not hoard jobs because of one slow round trip, and follows when all are slow", () => {
    const dispatcher = makeDispatcher(() => {}, { prefetch: "auto" });
    const before = dispatcher.prefetch;
    dispatcher.noteRoundTrip(10_000); // frozen, or behind a silent network
    expect(dispatcher.prefetch).toBeLessThan(2 * before);
    for (let i = 0; i < 60; i += 1) dispatcher.noteRoundTrip(500);
    expect(dispatcher.prefetch).toBeGreaterThan(90 * before);
  });
});
