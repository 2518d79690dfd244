import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimedJob } from "../../src/db/types.js";
import { median } from "../engine/measure.js";
import type { FlowBench } from "./context.js";

const many = 20_000;
const few = 10;
/** Lanes are put to rest ten seconds after they were woken (lanes_rest). */
const restMs = 11_000;

interface Ask {
  readonly limit?: number;
  readonly types?: readonly string[];
}

/**
 * Claims from a queue with very many types against claims from one with few: while all of them have a job, and when all
 * have ended and upkeep has put them to rest.
 */
export async function types({ engine, quick, newQueue, report }: FlowBench): Promise<void> {
  const rounds = quick ? 3 : 9;
  const [crowd, calm] = [await newQueue(), await newQueue()];
  await fill(crowd, names(many), many);
  for (const queue of [crowd, calm]) await fill(queue, names(few), 5000);
  while ((await engine.maintain()).lanes > 0);
  await compare("a claim of one", "", {}, 100);
  await compare("a claim of one with ten types given", "_given", { types: names(few) }, 30);
  await compare("a claim of a hundred", "_hundred", { limit: 100 }, 5);

  for (const queue of [crowd, calm]) await drain(queue);
  await sleep(restMs);
  while ((await engine.maintain()).crowded) await engine.lanesRest();
  await compare("a claim of nothing after all have ended", "_idle", {}, 100);
  for (const queue of [crowd, calm]) await fill(queue, names(few), 10 * few * rounds);
  await compare("a claim of one after all have ended, with jobs of ten of them", "_ended", {}, 10 * few);

  /** Ratio of the medians of as many claims from each of them, by turns. */
  async function compare(what: string, key: string, ask: Ask, claims: number): Promise<void> {
    const times = new Map<string, number[]>([
      [crowd, []],
      [calm, []],
    ]);
    for (let round = 0; round < rounds; round += 1) {
      for (const queue of round % 2 === 0 ? [crowd, calm] : [calm, crowd]) {
        for (let i = 0; i < claims; i += 1) {
          const startedAt = performance.now();
          const jobs = await engine.claim({ queues: [queue], ...ask });
          times.get(queue)!.push(performance.now() - startedAt);
          await end(jobs);
        }
      }
    }
    const [slow, fast] = [median(times.get(crowd)!), median(times.get(calm)!)];
    report(`ms for ${what}, ${few} types`, `types_${few}${key}_ms`, fast);
    report(
      `${what}, ${many.toLocaleString("en")} types against ${few}${ask.limit === undefined ? " (2)" : ""}`,
      `types_${many}${key}_vs_${few}`,
      slow / fast,
    );
  }

  async function drain(queue: string): Promise<void> {
    do {
      for (
        let jobs = await engine.claim({ queues: [queue], limit: 1000 });
        jobs.length > 0;
        jobs = await engine.claim({ queues: [queue], limit: 1000 })
      )
        await end(jobs);
    } while ((await engine.queueDepth(queue)).ready > 0);
  }

  async function end(jobs: readonly ClaimedJob[]): Promise<void> {
    await engine.settle(jobs.map(({ id, token }) => ({ token, outcome: "succeeded", jobs: [id] })));
  }

  async function fill(queue: string, of: readonly string[], jobs: number): Promise<void> {
    for (let done = 0; done < jobs; done += 1000) {
      const batch = Array.from({ length: Math.min(1000, jobs - done) }, (_, i) => ({
        type: of[(done + i) % of.length]!,
        queue,
      }));
      await engine.enqueueEach(batch);
    }
  }
}

const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `type-${i}`);
