import { expect, it } from "vitest";
import type { Engine } from "../../db/engine.js";
import type { LiveSample, LiveSampleOptions } from "../../db/types.js";
import { mergedMoments } from "./merge-moments.js";
import { Sampler } from "./sampler.js";

interface Seen {
  readonly counted: number;
  readonly isExact?: boolean;
  readonly failedJobs?: number;
  readonly isSample?: boolean;
}

/** Answers with what is next in the list; a count only where it was asked for. */
function samplerOf(...seen: readonly Seen[]): Sampler {
  let n = 0;
  const liveSample = async ({ failures }: LiveSampleOptions): Promise<LiveSample> => {
    const { counted, isExact = true, failedJobs = 0, isSample = false } = seen[n]!;
    n += 1;
    const to = new Date(n * 1000);
    return {
      now: to,
      from: n === 1 ? null : new Date(to.getTime() - 1000),
      to,
      ends: [],
      made: {},
      ended: { "": { ended: 9, failed: 9, failedJobs, isSample, p50: null, p95: null } },
      failedLastHour: failures ? { count: counted, isExact } : null,
      workers: 2,
      holders: 1,
      alerts: 1,
      queues: [],
    };
  };
  return new Sampler({ server: { liveSample } } as unknown as Engine);
}

const failuresOf = async (sampler: Sampler): Promise<readonly [number, boolean]> => {
  const { failedLastHour, failedLastHourIsExact } = (await sampler.take()).moment.overview;
  return [failedLastHour, failedLastHourIsExact];
};

it("adds jobs that failed for good, not attempts, to those that were counted", async () => {
  const sampler = samplerOf({ counted: 5 }, { counted: 100, failedJobs: 2 }, { counted: 100 });
  expect(await failuresOf(sampler)).toEqual([5, true]);
  expect(await failuresOf(sampler)).toEqual([7, true]);
  expect(await failuresOf(sampler)).toEqual([7, true]);
});

it("is not exact once only a part was looked at, and stays so until the next count", async () => {
  const part = samplerOf({ counted: 5 }, { counted: 0, failedJobs: 3, isSample: true }, { counted: 0, failedJobs: 1 });
  expect(await failuresOf(part)).toEqual([5, true]);
  expect(await failuresOf(part)).toEqual([8, false]);
  expect(await failuresOf(part)).toEqual([9, false]);
  const capped = samplerOf({ counted: 50_000, isExact: false }, { counted: 0, failedJobs: 3 });
  expect(await failuresOf(capped)).toEqual([50_000, false]);
  expect(await failuresOf(capped), "more than the cap is no more exact").toEqual([50_003, false]);
});

it("the sum of cells is exact where each of them is", async () => {
  const cell = async (name: string, seen: Seen) => ({ cell: name, ...(await samplerOf(seen).take()) });
  const [a, b] = [await cell("a", { counted: 3 }), await cell("b", { counted: 4 })];
  const all = mergedMoments([a, b]).moment.overview;
  expect(all).toMatchObject({ failedLastHour: 7, failedLastHourIsExact: true, workers: 2, holders: 1, alerts: 2 });
  const c = await cell("c", { counted: 50_000, isExact: false });
  expect(mergedMoments([a, b, c]).moment.overview).toMatchObject({ failedLastHourIsExact: false });
});
