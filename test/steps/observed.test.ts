import * as api from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { metricNames } from "../../src/observe/metrics.js";
import { openTelemetryTracing } from "../../src/observe/opentelemetry.js";
import type { StepEnd } from "../../src/steps/observer.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { Recorder } from "../support/metrics.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
beforeAll(() => provider.register());
afterAll(async () => {
  await provider.shutdown();
  api.trace.disable();
  api.context.disable();
  api.propagation.disable();
});

const order = defineJob<{ n: number }>("order");
const label = defineJob<{ n: number }>("label");

describe("traces of steps", () => {
  it("are a span for each try, wait and child, all in the trace of the enqueue, over all calls of the run", async () => {
    const queue = await test.queue();
    const mill = test.open({ tracing: openTelemetryTracing(api) });
    const worker = test.worker(queue, {}, mill);
    worker.handle(label, () => 7);
    worker.handle(order, async (_, { step }) => {
      await step.run("charge", () => 1);
      await step.run(
        "flaky",
        ({ attempt }) => {
          if (attempt === 1) throw new Error("not yet");
        },
        { maxAttempts: 2, retryDelay: 10 },
      );
      await step.sleep("nap", 10);
      await step.waitFor("go");
      await step.call("print", label, { n: 1 }, { queue });
      return step.transaction("book", test.db.pool, () => "done");
    });
    await worker.start();
    const root = api.trace.getTracer("test").startSpan("request");
    const { id } = await api.context.with(api.trace.setSpan(api.context.active(), root), () =>
      mill.enqueue(order, { n: 1 }, { queue }),
    );
    await until(
      "it waits for the signal",
      async () => (await mill.engine.get(id))?.job.waits?.signals?.includes("go") === true,
    );
    await mill.tell(id, "go");
    await mill.result(id);
    await worker.stop();

    const spans = exporter.getFinishedSpans();
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([root.spanContext().traceId]));
    const named = (name: string) => spans.filter((span) => span.name === name);
    const calls = named("run order");
    // flaky, nap, go, print: each ended a call; a suspended call has a span that ends too
    expect(calls).toHaveLength(5);
    for (const call of calls) expect(call.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
    for (const name of ["run charge", "wait nap", "wait go", "start print", "wait print", "transaction book"]) {
      expect(named(name), name).toHaveLength(1);
      expect(calls.map((call) => call.spanContext().spanId)).toContain(named(name)[0]!.parentSpanContext?.spanId);
    }
    expect(
      named("run flaky").map(({ attributes, status }) => [attributes["millrace.step.attempt"], status.code]),
    ).toEqual([
      [1, api.SpanStatusCode.ERROR],
      [2, api.SpanStatusCode.UNSET],
    ]);
    expect(named("wait flaky")[0]!.attributes["millrace.step.kind"]).toBe("retry");
    // the child's run hangs below the step that started it
    expect(named("run label")[0]!.parentSpanContext?.spanId).toBe(named("start print")[0]!.spanContext().spanId);
  });
});

describe("metrics and events of steps", () => {
  it("tell of tries, waits, resumes, signals and notices, and name no step in a label", async () => {
    const queue = await test.queue();
    const metrics = new Recorder();
    const mill = test.open({ metrics });
    const ends: StepEnd[] = [];
    let resumed = 0;
    const worker = test.worker(queue, { name: "host:1" }, mill).handle(order, async (_, { step }) => {
      await step.run("one", () => 1, { undo: () => {} });
      const failing = (): never => {
        throw new Error("no");
      };
      await step.run("two", failing, { maxAttempts: 2, retryDelay: 10 }).catch(() => {});
      await step.waitFor("go");
      throw new PermanentError("the end");
    });
    worker.on("step", (_, end) => void ends.push(end));
    worker.on("resumed", () => void (resumed += 1));
    await worker.start();
    const { id } = await mill.enqueue(order, { n: 1 }, { queue });
    await until(
      "it waits for the signal",
      async () => (await mill.engine.get(id))?.job.waits?.signals?.includes("go") === true,
    );
    await mill.tell(id, "go", 1, { id: "once" });
    await mill.tell(id, "go", 1, { id: "once" }).catch(() => {});
    await mill.result(id).catch(() => {});
    await worker.stop();

    const labels = { worker: "host:1", type: "order" };
    const steps = metrics.of(metricNames.steps).map(([, told]) => told);
    expect(steps).toEqual([
      { ...labels, kind: "run", outcome: "done" },
      { ...labels, kind: "run", outcome: "retried" },
      { ...labels, kind: "run", outcome: "failed" },
      { ...labels, kind: "undo", outcome: "done" },
    ]);
    expect(metrics.of(metricNames.stepDuration).map(([, told]) => told)).toEqual(steps);
    expect(metrics.of(metricNames.suspended).map(([, told]) => told["reason"])).toEqual(["retry", "signal"]);
    expect(metrics.sum(metricNames.resumed)).toBe(2);
    expect(resumed).toBe(2);
    expect(metrics.of(metricNames.signals)[0]).toEqual([metricNames.signals, { outcome: "new" }, 1]);
    expect(metrics.sum(metricNames.notices)).toBeGreaterThan(0);
    expect(metrics.of(metricNames.noticeLag).length).toBeGreaterThan(0);
    expect(ends.map(({ step, attempt, outcome }) => [step, attempt, outcome])).toEqual([
      ["one", 1, "done"],
      ["two", 1, "retried"],
      ["two", 2, "failed"],
      ["one", 1, "done"],
    ]);
  });
});
