import { expect, it } from "vitest";
import { describeExploration, explore } from "./explorer.js";
import { holdModel } from "./hold-model.js";
const base = { claimers: 2, claims: 1, batch: 2 };
const all: any = {
  same1: { ...base, jobs: 1, holders: [[1], [1]], claims: 2 },
  same1rel: { ...base, jobs: 1, holders: [[1], [1]], claims: 2, mayRelease: true, returns: 1 },
  same2: { ...base, jobs: 2, holders: [[1], [1]] },
  diff: { ...base, jobs: 2, holders: [[1], [2]] },
  diff1: { ...base, jobs: 2, holders: [[1], [2]], batch: 1 },
  diff2: { ...base, jobs: 2, holders: [[1], [2]], claims: 2 },
  both: { ...base, jobs: 2, holders: [[1,2], [2]] },
  seize1: { ...base, jobs: 1, holders: [[1]], seizers: 1, claims: 2 },
  seize11: { ...base, jobs: 1, holders: [[1], [1]], seizers: 1 },
  seize2: { ...base, jobs: 2, holders: [[1],[2]], seizers: 1 },
  seizeret: { ...base, jobs: 2, holders: [[1]], seizers: 1, returns: 1 },
};
it.each(Object.keys(all))("%s", (k) => {
  const t = Date.now();
  const e = explore(holdModel(all[k]));
  console.log(k, Date.now() - t, describeExploration(e));
});
