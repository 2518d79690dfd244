import { count, rate } from "../../format.js";
import type { Json, Rate } from "../../wire.js";

/** The limits among the options of a queue. */
export interface QueueLimits {
  readonly maxRunning?: number | null;
  readonly rate?: Rate | null;
  readonly groupMaxRunning?: number | null;
  readonly groupRate?: Rate | null;
  readonly maxDepth?: number | null;
  readonly ordered?: boolean | null;
}

/** The same in a few words. */
export function limitsOf(options: Json): string {
  const of = (options ?? {}) as QueueLimits;
  return [
    of.maxRunning && `${of.maxRunning} at once`,
    of.rate && `${rate(of.rate.perSecond)}/s`,
    of.groupMaxRunning && `${of.groupMaxRunning} per group`,
    of.groupRate && `${rate(of.groupRate.perSecond)}/s per group`,
    of.maxDepth && `${count(of.maxDepth)} deep`,
    of.ordered && "ordered",
  ]
    .filter(Boolean)
    .join(", ");
}
