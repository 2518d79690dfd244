import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { metricNames } from "../../src/observe/metrics.js";
import { PrometheusMetrics } from "../../src/observe/prometheus.js";
import { release, retryLater } from "../../src/worker/outcome.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { type WorkerEvents, workerEventNames } from "../../src/worker/worker-events.js";
import type { Worker } from "../../src/worker/worker.js";
import { Recorder } from "../support/metrics.js";
import { useMill } from "../support/mill.js";
import { gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");

function record(worker: Worker): [name: string, ...details: unknown[]][] {
  const events: [string, ...unknown[]][] = [];
  for (const name of workerEventNames)
    worker.on(name, (...details: WorkerEvents[typeof name]) => void events.push([name, ...details]));
  return events;
}

describe("metrics", () => {
  it("tell of a handler: busy at its start, then duration and outcome, then no longer busy; also when it throws [#123]", async () => {
    const queue = await test.queue();
    const metrics = new Recorder();
    const mill = test.open({ metrics });
    const worker = test.worker(queue, { name: "host:1" }, mill).handle(work, async ({ input }) => {
      expect(metrics.sum(metricNames.busy)).toBe(1);
      await sleep(20);
      if (input.n === 2) throw new PermanentError("no");
    });
    await worker.start();
    await mill.result(await mill.enqueue(work, { n: 1 }, { queue }));
    await mill.result(await mill.enqueue(work, { n: 2 }, { queue })).catch(() => {});
    await worker.stop();

    const names: string[] = [metricNames.busy, metricNames.duration];
    const labels = { worker: "host:1", type: "work" };
    expect(metrics.told.filter(([name]) => names.includes(name))).toEqual([
      [metricNames.busy, labels, 1],
      [metricNames.duration, { ...labels, outcome: "succeeded" }, expect.any(Number)],
      [metricNames.busy, labels, -1],
      [metricNames.busy, labels, 1],
      [metricNames.duration, { ...labels, outcome: "failed" }, expect.any(Number)],
      [metricNames.busy, labels, -1],
    ]);
    for (const [, , seconds] of metrics.of(metricNames.duration)) expect(seconds).toBeGreaterThan(0.015);
    expect(metrics.of(metricNames.wait)).toHaveLength(2);
    expect(metrics.of(metricNames.enqueued)).toEqual(
      [1, 1].map((by) => [metricNames.enqueued, { type: "work", queue }, by]),
    );
    expect(metrics.sum(metricNames.leases)).toBe(0);
    expect(metrics.of(metricNames.polls).some(([, told]) => told["found"] === "jobs")).toBe(true);
  });

  it("tell of the backlog: what waits and how old the oldest is, by queue and type; and how old a job is at its first attempt [#108]", async () => {
    const queue = await test.queue();
    const metrics = new PrometheusMetrics();
    const mill = test.open({ metrics });
    await mill.enqueueMany(work, [{ n: 1 }, { n: 2 }], { queue });
    await mill.enqueue("nobody-knows-this", {}, { queue });
    await test.db.engine.maintain();
    await test.db.moveClock(100);
    const value = (name: string, type: string): number =>
      Number(new RegExp(`^${name}\\{queue="${queue}",type="${type}"\\} (.*)$`, "m").exec(metrics.text())?.[1]);
    await mill.queues.pause(queue);
    const worker = test.worker(queue, { name: "host:1", backlogInterval: 100 }, mill).handle(work, () => {});
    await worker.start();
    const until = async (what: () => boolean): Promise<void> => {
      while (!what()) await sleep(10);
    };
    await until(() => value("millrace_jobs_blocked", "work") === 2);
    await until(() => value("millrace_jobs_blocked", "nobody-knows-this") === 1);
    expect(value("millrace_jobs_ready", "work")).toBe(0);
    expect(value("millrace_oldest_ready_seconds", "work")).toBe(0);
    await mill.queues.resume(queue);
    await until(() => value("millrace_jobs_ready", "nobody-knows-this") === 1);
    await until(() => value("millrace_jobs_blocked", "work") === 0 && value("millrace_jobs_ready", "work") === 0);
    await until(() => value("millrace_oldest_ready_seconds", "nobody-knows-this") > 0);
    expect(value("millrace_oldest_ready_seconds", "nobody-knows-this")).toBeGreaterThanOrEqual(100);
    await worker.stop();
    expect(value("millrace_jobs_ready", "nobody-knows-this")).toBe(0);
    expect(metrics.text()).toMatch(
      new RegExp(`millrace_job_wait_seconds_bucket\\{type="work",queue="${queue}",le="60"\\} 0`),
    );
    expect(metrics.text()).toMatch(new RegExp(`millrace_job_wait_seconds_count\\{type="work",queue="${queue}"\\} 2`));
    await test.db.moveClock(-100);
  });

  it("come back to zero whatever becomes of the jobs: cancelled before or while they run, given back, timed out [#123]", async () => {
    const queue = await test.queue();
    const metrics = new Recorder();
    const mill = test.open({ metrics });
    const go = gate();
    const worker = test.worker(queue, { concurrency: 1, prefetch: 4, lease: "1s" }, mill).handle(work, () => go.opened);
    const made = await mill.enqueueMany(work, [{}, {}, {}, {}, {}], { queue, attemptTimeout: "20s" });
    await worker.start();
    await until("all are here", () => worker.held === 5);
    expect([metrics.sum(metricNames.leases), metrics.sum(metricNames.busy)]).toEqual([5, 1]);
    await mill.cancel(made[0]!);
    await mill.cancel(made[4]!);
    await until("two are lost", () => worker.held === 3);
    go.open();
    await worker.stop();
    expect([
      metrics.sum(metricNames.leases),
      metrics.sum(metricNames.busy),
      metrics.sum(metricNames.leasesLost),
    ]).toEqual([0, 0, 2]);
  });

  it("count what was enqueued, not what was there already [#123]", async () => {
    const queue = await test.queue();
    const metrics = new Recorder();
    const mill = test.open({ metrics });
    for (let n = 0; n < 3; n += 1) await mill.enqueue(work, {}, { queue, fingerprint: "one" });
    await mill.enqueueMany(work, [{}, {}, {}], { queue });
    expect(metrics.sum(metricNames.enqueued)).toBe(4);
  });

  it("are printed as Prometheus wants them [#123]", async () => {
    const queue = await test.queue();
    const metrics = new PrometheusMetrics();
    const mill = test.open({ metrics });
    const worker = test.worker(queue, { name: 'a "host"\\\n' }, mill).handle(work, () => {});
    await worker.start();
    await mill.result(await mill.enqueue(work, {}, { queue }));
    await worker.stop();
    const text = metrics.text();
    expect(text).toContain("# TYPE millrace_jobs_busy gauge\n");
    expect(text).toContain('millrace_jobs_busy{worker="a \\"host\\"\\\\\\n",type="work"} 0\n');
    expect(text).toContain(`millrace_jobs_enqueued_total{type="work",queue="${queue}"} 1\n`);
    expect(text).toMatch(/millrace_job_duration_seconds_bucket\{.*outcome="succeeded",le="\+Inf"\} 1\n/);
    expect(text).toMatch(/millrace_job_duration_seconds_count\{.*\} 1\n/);
    const buckets = [...text.matchAll(/millrace_job_duration_seconds_bucket\{.*\} (\d+)\n/g)].map(([, count]) =>
      Number(count),
    );
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
  });

  it("that throw break nothing [#123]", async () => {
    const queue = await test.queue();
    const fail = () => {
      throw new Error("the sink is broken");
    };
    const mill = test.open({ metrics: { count: fail, move: fail, observe: fail } });
    const worker = test.worker(queue, {}, mill).handle(work, () => "fine");
    await worker.start();
    expect(await mill.result(await mill.enqueue(work, {}, { queue }))).toBe("fine");
    await worker.stop();
    expect(worker.held).toBe(0);
  });
});

describe("events", () => {
  it("tell of each outcome, with its job [#123]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, ({ input, attempt }) => {
      if (input.n === 1) throw new Error("for now");
      if (input.n === 2) throw new PermanentError("for good");
      if (input.n === 3) return release("1h");
      if (input.n === 4) return retryLater("1h");
      return attempt;
    });
    const events = record(worker);
    const made = await test.mill.enqueueMany(work, [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }], {
      queue,
      retryDelay: "1h",
    });
    await worker.start();
    await until(
      "all are told of",
      () => events.filter(([name]) => ["success", "failure", "released"].includes(name)).length === 5,
    );
    await worker.stop();
    const told = (id: string) =>
      events
        .filter(([, job]) => (job as { id?: string } | undefined)?.id === id)
        .map(([name, , ...more]) => [name, ...more]);
    const started = ["start"];
    expect(told(made[0]!.id)).toEqual([started, ["success", expect.any(Number)]]);
    expect(told(made[1]!.id)).toEqual([started, ["failure", expect.objectContaining({ message: "for now" }), false]]);
    expect(told(made[2]!.id)).toEqual([started, ["failure", expect.objectContaining({ message: "for good" }), true]]);
    expect(told(made[3]!.id)).toEqual([started, ["released"]]);
    expect(told(made[4]!.id)).toEqual([
      started,
      ["failure", expect.objectContaining({ message: expect.stringContaining("later") }), false],
    ]);
    expect([events[0], events.at(-1)]).toEqual([["started"], ["stopped"]]);
  });

  it("say of the last attempt that it is final [#17]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, () => {
      throw new Error("always");
    });
    const events = record(worker);
    await worker.start();
    await test.mill.result(await test.mill.enqueue(work, {}, { queue, maxAttempts: 2, retryDelay: 0 })).catch(() => {});
    expect(events.filter(([name]) => name === "failure").map(([, , , final]) => final)).toEqual([false, true]);
  });

  it("heard by listeners that throw break nothing: the job runs and the error is told [#141]", async () => {
    const queue = await test.queue();
    const errors: unknown[] = [];
    const worker = test.worker(queue, { concurrency: 1 }).handle(work, () => "fine");
    for (const name of ["start", "success"] as const) {
      worker.on(name, () => {
        throw new Error(`the listener of ${name} is broken`);
      });
    }
    worker.on("error", (error) => {
      errors.push(error);
      throw new Error("and so is this one");
    });
    await worker.start();
    for (let n = 0; n < 3; n += 1)
      expect(await test.mill.result(await test.mill.enqueue(work, {}, { queue }))).toBe("fine");
    await worker.stop();
    expect(errors).toHaveLength(6);
  });
});
