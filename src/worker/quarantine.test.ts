import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defineJob } from "../job/define-job.js";
import type { Engine } from "../db/engine.js";
import type { ClaimedJob } from "../db/types.js";
import { Dispatcher } from "./dispatcher.js";
import { suspectMs } from "./quarantine.js";
import { Slots } from "./slots.js";
import { checkWorkerOptions } from "./worker-options.js";

const second = 1000;
const types = ["work", "limited"] as const;

/**
 * A dispatcher without a database: what it started, what it would claim and report. Handlers end when the test says so.
 */
class Bench {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();
  #jobs = 0;
  changes = 0;
  readonly dispatcher: Dispatcher;

  constructor(slots = new Slots(3)) {
    this.dispatcher = new Dispatcher(
      checkWorkerOptions({ concurrency: 3, prefetch: 1 }, "bench"),
      {} as Engine,
      undefined,
      undefined,
      {
        onStart: (job) => void this.started.push(job.id),
        onOutcome: () => {},
        onAbandoned: () => {},
        onChange: () => void (this.changes += 1),
      },
      undefined,
      undefined,
      slots,
    );
    const one = ({ id }: { readonly id: string }) => new Promise<void>((resolve) => this.#ends.set(id, resolve));
    for (const type of types)
      this.dispatcher.register({
        definition: defineJob(type),
        run: { one },
        size: 1,
        concurrency: type === "limited" ? 1 : undefined,
      });
  }

  job(id: string, more: Partial<ClaimedJob> = {}): ClaimedJob {
    const [claimedAt, leaseEndsAt] = [new Date(0), new Date(3600 * second)];
    const token = `token ${(this.#jobs += 1)}`;
    return {
      id,
      token,
      queue: "q",
      type: "work",
      priority: 0,
      attempt: 1,
      maxAttempts: 5,
      input: null,
      createdAt: claimedAt,
      claimedAt,
      leaseEndsAt,
      alone: false,
      ...more,
    };
  }

  suspect(id: string, more: Partial<ClaimedJob> = {}): ClaimedJob {
    return this.job(id, { alone: true, attempt: 2, ...more });
  }

  /** Let a handler return, and its outcome be recorded. */
  async end(id: string): Promise<void> {
    this.#ends.get(id)!();
    await vi.advanceTimersByTimeAsync(0);
  }

  report(): string[] {
    const settlements = this.dispatcher.takeSettlements();
    if (settlements.length > 0) this.dispatcher.reported();
    return settlements.flatMap(({ outcome, jobs }) => jobs.map((id) => `${id} ${outcome}`));
  }

  /** Whether it would claim anything now. */
  get wants(): boolean {
    const wanted = this.dispatcher.wanted({ queues: ["q"] });
    for (const { release } of wanted) release();
    return wanted.length > 0;
  }
}

describe("a suspect", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("starts once what was here has run and is recorded; meanwhile nothing is claimed", async () => {
    const bench = new Bench();
    bench.dispatcher.accept(
      [1, 2, 3, 4].map((n) => bench.job(`job ${n}`)),
      performance.now(),
    );
    bench.dispatcher.accept([bench.suspect("suspect")], performance.now());
    expect([bench.started, bench.wants, bench.dispatcher.held]).toEqual([["job 1", "job 2", "job 3"], false, 5]);
    expect([...bench.dispatcher.tokens().values()].flatMap(({ ids }) => ids)).toContain("suspect");
    for (const n of [1, 2, 3, 4]) await bench.end(`job ${n}`);
    expect(bench.started.slice(3)).toEqual(["job 4"]);
    const report = bench.dispatcher.takeSettlements();
    bench.dispatcher.startWaiting();
    expect(bench.started).not.toContain("suspect");
    bench.dispatcher.reported(report);
    expect(bench.started).not.toContain("suspect");
    bench.report();
    expect([bench.started.at(-1), bench.wants]).toEqual(["suspect", false]);
  });

  it("starts once what was here in other cells has run and is recorded, too", async () => {
    const slots = new Slots(3);
    const [here, there] = [new Bench(slots), new Bench(slots)];
    there.dispatcher.accept([there.job("job")], performance.now());
    here.dispatcher.accept([here.suspect("suspect")], performance.now());
    await there.end("job");
    expect([here.started, there.wants]).toEqual([[], false]);
    expect(there.report()).toEqual(["job succeeded"]);
    expect(here.started).toEqual(["suspect"]);
  });

  it("that survives its first second is joined by others, and the fetcher is told", async () => {
    const bench = new Bench();
    bench.dispatcher.accept([bench.suspect("suspect")], performance.now());
    expect([bench.started, bench.wants, bench.changes]).toEqual([["suspect"], false, 0]);
    await vi.advanceTimersByTimeAsync(suspectMs - 1);
    expect([bench.wants, bench.changes]).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([bench.wants, bench.changes]).toEqual([true, 1]);
    bench.dispatcher.accept([bench.job("job")], performance.now());
    expect(bench.started).toEqual(["suspect", "job"]);
  });

  it("that ends sooner makes room at once", async () => {
    const bench = new Bench();
    bench.dispatcher.accept([bench.suspect("suspect")], performance.now());
    await bench.end("suspect");
    expect([bench.wants, bench.report()]).toEqual([true, ["suspect succeeded"]]);
    bench.dispatcher.accept([bench.suspect("next")], performance.now());
    await vi.advanceTimersByTimeAsync(suspectMs - 1);
    expect([bench.started, bench.wants]).toEqual([["suspect", "next"], false]);
  });

  it("goes alone: a second one, of a type claimed apart, is given back", () => {
    const bench = new Bench();
    bench.dispatcher.accept([bench.suspect("first"), bench.suspect("second", { type: "limited" })], performance.now());
    expect(bench.started).toEqual([]);
    expect(bench.report()).toEqual(["second released"]);
    expect([bench.started, bench.dispatcher.held]).toEqual([["first"], 1]);
  });

  it("that was lost or cancelled while it waits is forgotten", async () => {
    const bench = new Bench();
    const suspect = bench.suspect("suspect");
    bench.dispatcher.accept([bench.job("job"), suspect], performance.now());
    expect(bench.dispatcher.lose(new Set(["suspect"]))).toEqual([suspect]);
    expect([bench.wants, bench.dispatcher.held, bench.changes]).toEqual([true, 1, 1]);
    await bench.end("job");
    expect([bench.report(), bench.started]).toEqual([["job succeeded"], ["job"]]);
  });

  it("that still waits when the worker stops is given back", () => {
    const bench = new Bench();
    bench.dispatcher.accept([bench.job("job"), bench.suspect("suspect")], performance.now());
    bench.dispatcher.stop();
    bench.dispatcher.accept([bench.suspect("too late")], performance.now());
    expect([bench.report(), bench.started]).toEqual([["suspect released", "too late released"], ["job"]]);
  });

  it.each([
    [2, 30],
    [3, 300],
    [9, 3600],
  ])(
    "in attempt %d waits %d seconds at most for handlers that do not end, so that a worker never stands still for good",
    async (attempt, seconds) => {
      const bench = new Bench();
      bench.dispatcher.accept(
        [
          bench.job("long"),
          bench.job("limited", { type: "limited" }),
          bench.suspect("suspect", { type: "limited", attempt }),
        ],
        performance.now(),
      );
      await vi.advanceTimersByTimeAsync((seconds - 1) * second);
      await bench.end("limited");
      bench.report();
      expect([bench.started, bench.wants]).toEqual([["long", "limited"], false]);
      await vi.advanceTimersByTimeAsync(second);
      expect([bench.started.at(-1), bench.wants]).toEqual(["suspect", false]);
      await vi.advanceTimersByTimeAsync(suspectMs);
      expect(bench.wants).toBe(true);
    },
  );

  it("that is overdue leaves the limit of its type alone", async () => {
    const bench = new Bench();
    bench.dispatcher.accept(
      [bench.job("limited", { type: "limited" }), bench.suspect("suspect", { type: "limited" })],
      performance.now(),
    );
    await vi.advanceTimersByTimeAsync(60 * second);
    expect(bench.started).toEqual(["limited"]);
    await bench.end("limited");
    expect(bench.started).toEqual(["limited", "suspect"]);
  });
});
