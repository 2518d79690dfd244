import type { Kind, Option, OwnKind, Scope } from "../../src/db/option-table.js";
import { maxOf } from "../../src/db/option-table.js";

/** Values of an option, as JSON: some that are in range, among them both ends, and some just outside of it. */
export interface Examples {
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const hour = 3_600_000;
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `n${i}`);

/** "default" is a queue, "r" a resource. Bytes are what each door makes of them. */
const own: Readonly<Record<OwnKind, Examples>> = {
  bytes: { good: [], bad: [] },
  headers: { good: [{}, { a: [1, { b: null }] }], bad: [5, "a", ["a"]] },
  resources: {
    good: [{ r: 1 }, { r: 1_000_000 }],
    bad: [{ r: 0 }, { r: 1_000_001 }, { r: 1.5 }, { nowhere: 1 }, ["r"], 5],
  },
  retry: {
    good: [0, 1e9, [0, 1e9], { base: 0, factor: 1, cap: 1e9, jitter: 1 }],
    bad: [
      -1,
      1e9 + 1,
      [],
      [1, -1],
      { base: -1 },
      { cap: 1e9 + 1 },
      { factor: 0.9 },
      { jitter: 1.1 },
      { most: 1 },
      true,
    ],
  },
  errorRules: {
    good: [[{ code: "x", fail: true }], Array.from({ length: 100 }, () => ({ pattern: "x", delays: [1] }))],
    bad: [[], [{ code: "x" }], Array.from({ length: 101 }, () => ({ pattern: "x", delays: [1] })), {}, 5],
  },
  breaker: {
    good: [{}, { failures: 1 }, { withinSeconds: 86_400 }],
    bad: [{ failures: 0 }, { failures: 1.5 }, { withinSeconds: 86_401 }, { often: 1 }, [], 5],
  },
  rate: {
    good: [{ perSecond: 1e9 }, { perSecond: 0.001, burst: 1 }],
    bad: [
      { perSecond: 0 },
      { perSecond: 1e9 + 1 },
      { burst: 1 },
      { perSecond: 1, burst: 0.5 },
      { perSecond: 1, b: 1 },
      5,
    ],
  },
  names: { good: [[], ["default"]], bad: ["default", [5], [""], ["x".repeat(201)], many(101), {}] },
  calendar: { good: [], bad: [] },
};
const calendars: Readonly<Record<string, Examples>> = {
  drainsAt: {
    good: [{ times: ["18:00"], zone: "UTC" }],
    bad: [{ times: ["24:00"], zone: "UTC" }, { times: [], zone: "UTC" }, { times: ["18:00"] }, [], 5],
  },
  blocked: {
    good: [[{ from: "22:00", to: "06:00", zone: "Europe/Berlin" }]],
    bad: [[{ from: "22:00", to: "06:00", zone: "Nowhere" }], [{ from: "22:00" }], [], {}, 5],
  },
};

export function examplesOf({ name, kind }: Option, scope: Scope): Examples {
  switch (kind.is) {
    case "text":
      return kind.most === undefined
        ? { good: ["default"], bad: [{}, ["default"], true] }
        : { good: ["x", "ä𝄞".repeat(maxOf(kind.most) / 2)], bad: ["", "𝄞".repeat(maxOf(kind.most) + 1), {}, true] };
    case "time": {
      const soon = new Date(Date.now() + hour).toISOString();
      return {
        good: [soon, "9999-12-31T23:59:59.999Z"],
        bad: ["1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "x", {}],
      };
    }
    case "number":
    case "integer":
      return numbers(kind, scope);
    case "choice":
      return { good: kind.of, bad: ["nonsense", 5, [kind.of[0]], {}] };
    default:
      return kind.is === "calendar" ? calendars[name]! : own[kind.is];
  }
}

function numbers(
  { is, least, most, word, isWordOfJobs }: Extract<Kind, { readonly least: number }>,
  scope: Scope,
): Examples {
  const highest = maxOf(most);
  const hasWord = word !== undefined && (!isWordOfJobs || scope === "job");
  const step = is === "integer" ? 1 : 0.0005;
  return {
    good: [least, highest, ...(hasWord ? [word] : [])],
    bad: [
      least - step,
      highest + Math.max(step, 1),
      ...(is === "integer" ? [least + 0.5] : []),
      ...(hasWord ? [] : ["computed"]),
      {},
    ],
  };
}
