import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldings, usualFolding } from "../../dashboard/pages/flows/fold.js";
import { layout } from "../../dashboard/pages/flows/layout.js";
import type { FlowJob, JobState } from "../../dashboard/wire.js";
import { flowIdOf, flowOf } from "./fixture-flows.js";

const size = { width: 196, height: 54 };

/** Jobs of which each waits for some before it. */
const flows = fc
  .array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.array(fc.nat(), { maxLength: 4 })), { maxLength: 40 })
  .map((lines) =>
    lines.map(([type, back], n): FlowJob => {
      const after = n === 0 ? [] : [...new Set(back.map((far) => String(n - 1 - (far % n))))];
      return { id: String(n), type, queue: "q", state: "ready", after, when: "succeeded" };
    }),
  );

describe("a flow that is folded", () => {
  it("has each job in one node, each wait as one line, and nothing that waits for itself", () => {
    fc.assert(
      fc.property(flows, (jobs) => {
        for (const { nodes } of foldings(jobs)) {
          expect(nodes.flatMap((node) => node.jobs.map(({ id }) => id)).toSorted()).toEqual(
            jobs.map(({ id }) => id).toSorted(),
          );
          const nodeOf = new Map(nodes.flatMap((node) => node.jobs.map(({ id }) => [id, node])));
          for (const job of jobs)
            for (const other of job.after) {
              expect(nodeOf.get(job.id)!.after).toContain(nodeOf.get(other)!.key);
              expect(nodeOf.get(other)!.layer).toBeLessThan(nodeOf.get(job.id)!.layer);
            }
        }
      }),
    );
  });

  it("is readable at five hundred jobs that are alike", () => {
    const { jobs } = flowOf(flowIdOf("render-500"), null)!;
    const ways = foldings(jobs);
    expect(usualFolding(ways)).toBe("alike");
    expect(
      ways.find(({ folding }) => folding === "alike")!.nodes.map(({ type, jobs: all }) => [type, all.length]),
    ).toEqual([
      ["plan", 1],
      ["extract", 160],
      ["render", 160],
      ["upload", 160],
      ["bundle", 16],
      ["stitch", 1],
      ["report", 1],
      ["mail", 1],
    ]);
  });

  it("keeps apart what waits for others than its equals do", () => {
    const job = (id: string, type: string, after: string[] = [], state: JobState = "ready"): FlowJob => ({
      id,
      type,
      queue: "q",
      state,
      after,
      when: "succeeded",
    });
    const [, alike] = foldings([
      ...["1", "2", "3", "4"].map((id) => job(id, "extract", [], id === "2" ? "failed" : "ready")),
      job("5", "load", ["1", "2", "3"]),
      job("6", "check", ["4"]),
    ]);
    expect(alike!.nodes.map(({ jobs }) => jobs.map(({ id }) => id))).toEqual([["1", "2", "3"], ["4"], ["5"], ["6"]]);
  });
});

describe("the layout of a graph", () => {
  it.each([false, true])(
    "lets no two nodes overlap, stays within its bounds, and draws each line once: down %s",
    (down) => {
      fc.assert(
        fc.property(flows, (jobs) => {
          for (const { nodes } of foldings(jobs)) {
            const { places, lines, width, height } = layout(nodes, { ...size, down });
            expect([...places.keys()]).toEqual(nodes.map(({ key }) => key));
            const all = [...places.values()];
            for (const [n, one] of all.entries()) {
              expect(one.x).toBeGreaterThanOrEqual(-0.01);
              expect(one.y).toBeGreaterThanOrEqual(-0.01);
              expect(one.x + size.width).toBeLessThanOrEqual(width + 1);
              expect(one.y + size.height).toBeLessThanOrEqual(height + 1);
              for (const other of all.slice(n + 1))
                expect(
                  Math.abs(one.x - other.x) > size.width || Math.abs(one.y - other.y) > size.height,
                  `${JSON.stringify(one)} and ${JSON.stringify(other)} are apart`,
                ).toBe(true);
            }
            expect(lines.map(({ from, to }) => `${from} ${to}`).toSorted()).toEqual(
              nodes.flatMap(({ key, after }) => after.map((from) => `${from} ${key}`)).toSorted(),
            );
          }
        }),
      );
    },
  );

  it("untangles what can be untangled", () => {
    const node = (key: string, layer: number, after: string[] = []) => ({ key, layer, after });
    const { places } = layout([node("a", 0), node("b", 0), node("y", 1, ["b"]), node("x", 1, ["a"])], {
      ...size,
      down: false,
    });
    expect(places.get("x")!.y).toBeCloseTo(places.get("a")!.y);
    expect(places.get("y")!.y).toBeCloseTo(places.get("b")!.y);
  });

  it("holds with a thousand jobs in a row, and with lines across all of them", () => {
    const jobs = Array.from({ length: 1000 }, (_, n): FlowJob => {
      return {
        id: String(n),
        type: `t${n}`,
        queue: "q",
        state: "ready",
        when: "succeeded" as const,
        after: n === 0 ? [] : ["0", String(n - 1)].slice(n === 1 ? 1 : 0),
      };
    });
    const [each] = foldings(jobs);
    expect(layout(each!.nodes, { ...size, down: false }).lines).toHaveLength(1997);
  });
});
