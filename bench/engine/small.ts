import { readFileSync } from "node:fs";
import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";
import { alternate, median, payloads } from "./measure.js";
import type { UpdateDeleteQueue } from "./raw.js";

/** Small work: claims of one job, by many connections, on one warm connection, and among very many types. */

const connections = 16;

/** Jobs per second that 16 connections claim one at a time, beside a table that is claimed with SKIP LOCKED. */
export async function claimOneBesideSkipLocked(
  engine: Engine,
  usual: UpdateDeleteQueue,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<{ ours: number; theirs: number; ratio: number }> {
  await engine.queuePut("claim1");
  const enough = seconds * 24_000; // more than can be claimed: with 8,000 a second the other one ran out of jobs
  const ours = async () => {
    for (let jobs = 0; jobs < enough; jobs += 1000)
      await engine.enqueueMany("noop", payloads(1000), { queue: "claim1" });
    const jobs = await claimersPerSecond(seconds, async () => {
      return (await engine.claim({ limit: 1, queues: ["claim1"] })).length;
    });
    await engine.queuePurge("claim1");
    await usual.pool.query("truncate millrace.claim");
    return jobs;
  };
  const theirs = async () => {
    await usual.fill(JSON.stringify(payloads(1000)), enough);
    const jobs = await claimersPerSecond(seconds, () => usual.claimOne());
    await usual.clear();
    return jobs;
  };
  return alternate(rounds, ours, theirs);
}

async function claimersPerSecond(seconds: number, claim: () => Promise<number>): Promise<number> {
  // a new connection plans every statement once; that is not what is measured here
  for (let i = 0; i < 6; i += 1) await Promise.all(Array.from({ length: connections }, claim));
  const end = performance.now() + seconds * 1000;
  let jobs = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const claimed = await claim();
        jobs += claimed; // not in one expression: it would read the sum before it waits
      }
    }),
  );
  return jobs / seconds;
}

/**
 * Processor time of the server for one claim of one job and its completion, in microseconds. `pool` has one connection,
 * so that one backend does it all.
 */
export async function claimOneProcessorTime(engine: Engine, pool: pg.Pool, rounds: number): Promise<number> {
  await engine.queuePut("cpu");
  const { rows } = await pool.query("select pg_backend_pid() as pid");
  const microseconds = (): number =>
    Number(readFileSync(`/proc/${rows[0].pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1000;
  const pass = async (jobs: number) => {
    for (let i = 0; i < jobs; i += 1) {
      const [job] = await engine.claim({ limit: 1, queues: ["cpu"] });
      if (job === undefined) throw new Error("the queue is empty");
      await engine.completeMany(job.token, [job.id]);
    }
  };
  const each: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < 300; i += 1) await engine.enqueue({ type: "noop", input: { i }, queue: "cpu" });
    await pass(50);
    const before = microseconds();
    await pass(250);
    each.push((microseconds() - before) / 250);
  }
  return median(each);
}

/** How long a claim of one takes in a queue with very many types, against one with few. */
export async function manyTypes(engine: Engine, types: number, few: number): Promise<number> {
  const fill = async (queue: string, kinds: number) => {
    await engine.queuePut(queue);
    const jobs = Array.from({ length: Math.max(kinds, 2000) }, (_, i) => ({
      type: `type-${i % kinds}`,
      queue,
      input: i,
    }));
    for (let from = 0; from < jobs.length; from += 10_000) await engine.enqueueEach(jobs.slice(from, from + 10_000));
    // lanes are found by claims, a thousand at a time
    for (let i = 0; i < kinds / 500 + 20; i += 1) await engine.claim({ limit: 1, queues: [queue] });
  };
  await fill("types-many", types);
  await fill("types-few", few);
  const claim = async (queue: string): Promise<number> => {
    const each: number[] = [];
    for (let i = 0; i < 50; i += 1) {
      const start = performance.now();
      await engine.claim({ limit: 1, queues: [queue] });
      each.push(performance.now() - start);
    }
    return median(each);
  };
  const { ratio } = await alternate(
    9,
    () => claim("types-many"),
    () => claim("types-few"),
  );
  return ratio;
}
