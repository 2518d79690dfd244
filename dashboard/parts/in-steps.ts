import { ApiError, send } from "../api.js";
import { exact } from "../format.js";
import type { Touch } from "../wire.js";
import type { Pace } from "./act.js";

/** What was done in steps: how many were touched, and whether that was all. */
export interface Stepped {
  readonly count: number;
  readonly isWhole: boolean;
}

/**
 * A request does so many at most, and its answer has the request that continues: ask until that was all, or somebody
 * wants it to stop.
 */
export async function inSteps(path: string, first: object, pace: Pace): Promise<Stepped> {
  let count = 0;
  let body: object | undefined = first;
  while (body && !pace.isStopped) {
    let answer: Touch;
    try {
      answer = await send("POST", path, body);
    } catch (error) {
      if (count === 0 || !(error instanceof ApiError)) throw error;
      const message = `${error.message}; ${exact(count)} were done before, and to do it again goes on from there`;
      throw new ApiError(message, error.status, error.code, error.remedy, error.requestId);
    }
    count += answer.count;
    pace.tell(count);
    body = answer.next;
  }
  return { count, isWhole: body === undefined };
}

/**
 * How many an act would touch, all of them: one request counts so many, or looks so long, and may have found none yet.
 * Counts on until that was all, or somebody wants it to stop.
 */
export async function countInSteps(path: string, first: object, pace: Pace): Promise<Touch> {
  let count = 0;
  let body: object | undefined = { ...first, dryRun: true };
  for (;;) {
    const answer: Touch = await send("POST", path, body);
    count += answer.count;
    body = answer.next;
    if (body === undefined || pace.isStopped) return { count, isExact: answer.isExact };
    pace.tell(count);
  }
}
