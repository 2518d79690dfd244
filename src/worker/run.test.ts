import { afterEach, expect, it, vi } from "vitest";
import { defineJob } from "../job/define-job.js";
import { type ClaimColumns, decodeClaims } from "../db/decode.js";
import type { Engine } from "../db/engine.js";
import type { Journal } from "../steps/journal.js";
import type { Outcome } from "./outcome.js";
import { Run } from "./run.js";

const claim: ClaimColumns = {
  token: "00000000-0000-4000-8000-000000000000",
  queue: "default",
  type: "work",
  priority: 5,
  claimedAt: "2026-01-01T00:00:00+00:00",
  leaseEndsAt: "2026-01-01T00:00:30+00:00",
  maxAttempts: 25,
  ids: ["1"],
  inputs: [null],
};

afterEach(() => vi.useRealTimers());

it.each([
  { deadline: "infinity" },
  { deadline: "294276-12-31T23:59:59+00:00" },
  { deadline: "10000-01-01T00:00:00+00:00" },
  { deadline: "2100-01-01T00:00:00+00:00" },
  { attemptTimeoutSeconds: (2 ** 31 - 0.5) / 1000 },
  { attemptTimeoutSeconds: 1e9 },
])("a job with $deadline $attemptTimeoutSeconds runs, and is not ended at once", async (limits) => {
  vi.useFakeTimers();
  const outcomes: Outcome[] = [];
  const { jobs } = decodeClaims([{ ...claim, extras: [limits] }]);
  const run = new Run(
    {
      definition: defineJob("work"),
      run: { one: () => new Promise(() => {}) },
      older: new Map(),
      size: 1,
      concurrency: 1,
    },
    jobs,
    {} as Engine,
    {
      onOutcome: (_run, _job, outcome) => outcomes.push(outcome),
      onEnded: () => {},
    },
    {} as Journal,
  );
  run.start(undefined, 0);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(outcomes).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a deadline before all times has passed", async () => {
  const [job] = decodeClaims([{ ...claim, extras: [{ deadline: "-infinity" }] }]).jobs;
  expect(job!.deadline!.getTime()).toBeLessThan(0);
});
