import type { Scenario } from "../bench.ts";
import { deepBacklog } from "./deep-backlog.ts";
import { drain, manyTenants } from "./drain.ts";
import { enqueueBulk, enqueueSingle } from "./enqueue.ts";
import { footprint } from "./footprint.ts";
import { idleCost } from "./idle-cost.ts";
import { largePayloads } from "./large-payloads.ts";
import { latency } from "./latency.ts";
import { heldSnapshot, steady } from "./steady.ts";
import { workerMemory } from "./worker-memory.ts";

export const scenarios: readonly Scenario[] = [
  enqueueBulk,
  enqueueSingle,
  drain,
  steady,
  latency,
  heldSnapshot,
  deepBacklog,
  manyTenants,
  largePayloads,
  footprint,
  workerMemory,
  idleCost,
];
