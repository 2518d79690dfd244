import { expect, it } from "vitest";
import type { Millrace } from "../../src/client/with-workers.js";
import { defineJob } from "../../src/job/define-job.js";
import { useCellMills } from "../support/cell-mills.js";
import { until } from "../support/wait.js";

const cells = useCellMills();
const double = defineJob<{ n: number }, number>("double");

it("[#226] [#241] tenants are each in one cell, and no job is lost or run twice, while many place them and a cell joins", async () => {
  const two = cells.open({ cells: { a: cells.urls.a, b: cells.urls.b } });
  const mills = Array.from({ length: 8 }, () => cells.open());
  const queue = "spread";
  await two.queues.put(queue, { spread: "tenant" });
  const tenants = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `t${from + n}`);
  const many = tenants(0, 60);
  const runs = new Map<string, number>();
  const worker = cells.worker(mills[0]!, [queue], { concurrency: 8 });
  worker.handle(double, async ({ id, input }) => {
    runs.set(id, (runs.get(id) ?? 0) + 1);
    return input.n;
  });
  const kept = new Map<string, string>();
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const enqueue = async (mill: Millrace, tenant: string, n: number): Promise<void> => {
    for (;;) {
      try {
        const { id } = await mill.enqueue(double, { n }, { queue, tenant });
        kept.set(id, tenant);
        return;
      } catch (error) {
        if ((error as { reason?: string }).reason !== "joining") throw error;
      }
    }
  };
  const produce = async (mill: Millrace, at: number): Promise<void> => {
    // many come to the same tenants at about the same time, from both ends, before the new cell is there and after it
    for (const [n, tenant] of (at % 2 === 0 ? many : many.toReversed()).entries()) {
      if (n === 20) await begun;
      await enqueue(mill, tenant, n);
      if (n === 10 && at === 0) {
        const joined = mills[1]!.cells!.add("c");
        begin();
        await joined;
      }
    }
  };
  await Promise.all(mills.map(produce));
  // the cell is there, however long that took
  const late = tenants(60, 90);
  await Promise.all(
    mills.map(async (mill) => {
      for (const [n, tenant] of late.entries()) await enqueue(mill, tenant, n);
    }),
  );
  await worker.start();
  await until("all jobs have run", () => runs.size >= kept.size);
  expect(kept.size).toBe(8 * 90);
  expect([...runs.keys()].toSorted()).toEqual([...kept.keys()].toSorted());
  expect(new Set(runs.values())).toEqual(new Set([1]));
  const cellsOf = new Map<string, Set<string>>([...many, ...late].map((tenant) => [tenant, new Set()]));
  for (const [id, tenant] of kept) cellsOf.get(tenant)!.add(id.split(":")[0]!);
  for (const [tenant, own] of cellsOf) expect([tenant, own.size]).toEqual([tenant, 1]);
  expect(new Set([...cellsOf.values()].flatMap((own) => [...own]))).toEqual(new Set(["a", "b", "c"]));
}, 120_000);
