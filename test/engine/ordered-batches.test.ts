import { describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { miscounts } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

async function fill(queue: string, ...groups: readonly (readonly [string, number])[]): Promise<void> {
  for (const [group, n] of groups)
    for (const i of times(n)) await db.engine.enqueue({ type: "t", queue, group, input: `${group}${i + 1}` });
}

const claim = async (queue: string, limit = 10, groupLimit?: number): Promise<ClaimedJob[]> =>
  db.engine.claim({ queues: [queue], limit, leaseSeconds: 60, ...(groupLimit === undefined ? {} : { groupLimit }) });
const inputs = (jobs: readonly ClaimedJob[]): string[] => jobs.map((job) => job.input as string);
const sorted = (names: readonly string[]): string[] => [...names].sort((a, b) => a.localeCompare(b));
/** All that decides on who may go, for whoever has to find out why nobody did. */
async function factsOf(queue: string): Promise<string> {
  const [facts] = await db.sql(
    `select pg_current_snapshot()::text as snapshot, (select json_agg(c) from (select lane::text, track::text, jobs::text, until from claim) c) as claims,
            (select json_agg(a) from (select job_id::text, track::text, lane::text, due_at, chain, attempt from agenda) a) as agenda,
            (select json_agg(c) from (select track::text, seq, head_xid, head_ticket, head_offset, late, turn, since, credit from lane_cursor) c) as cursors,
            (select json_agg(t) from (select t.lane::text, t.xid, t.id, t.jobs::text from ticket t join lane l on t.lane = l.key + 2 join queue q on q.id = l.queue_id where q.name = $1 order by t.xid desc, t.id desc limit 20) t) as line,
            (select json_agg(j) from (select state, count(*) from jobs where queue = $1 group by 1) j) as jobs`,
    [queue],
  );
  return JSON.stringify(facts);
}
const ordered = async (): Promise<string> => newQueue(db, { ordered: "batches" });

describe("groups in ordered batches", () => {
  it("go several jobs at a time, in order, and one group in nobody else's hands", async () => {
    const queue = await ordered();
    await fill(queue, ["a", 5], ["b", 2]);
    const first = await claim(queue, 3);
    expect(inputs(first)).toEqual(["a1", "a2", "a3"]);
    const second = await claim(queue);
    expect(inputs(second)).toEqual(["b1", "b2"]);
    expect(await claim(queue)).toEqual([]);
    await db.engine.complete(first[0]!);
    await db.engine.complete(first[2]!);
    expect(await claim(queue)).toEqual([]);
    await db.engine.complete(first[1]!);
    expect(inputs(await claim(queue))).toEqual(["a4", "a5"]);
  });

  it("fill a claim with one group before the next, and keep each within groupLimit", async () => {
    const queue = await ordered();
    await fill(queue, ["a", 2], ["b", 4], ["c", 4]);
    expect(inputs(await claim(queue, 5))).toEqual(["a1", "a2", "b1", "b2", "b3"]);
    const other = await ordered();
    await fill(other, ["a", 5], ["b", 1], ["c", 5]);
    expect(sorted(inputs(await claim(other, 10, 2)))).toEqual(["a1", "a2", "b1", "c1", "c2"]);
    await expect(claim(other, 10, 0)).rejects.toMatchObject({ code: "MR001" });
  });

  it("take back what was released in any order by age, before what is fresh", async () => {
    const queue = await ordered();
    await fill(queue, ["a", 5]);
    const jobs = await claim(queue, 3);
    await db.engine.release(jobs[2]!);
    expect(await claim(queue)).toEqual([]);
    await db.engine.release(jobs[1]!);
    await db.engine.release(jobs[0]!);
    expect(inputs(await claim(queue, 1))).toEqual(["a1"]);
    expect(await claim(queue, 1)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 4, running: 1 });
  });

  it("go again up to the first that still runs", async () => {
    const queue = await ordered();
    await fill(queue, ["a", 4]);
    const jobs = await claim(queue, 3);
    await db.engine.release(jobs[0]!);
    await db.engine.release(jobs[2]!);
    const again = await claim(queue);
    expect(inputs(again)).toEqual(["a1"]);
    await db.engine.complete(jobs[1]!);
    expect(await claim(queue)).toEqual([]);
    await db.engine.complete(again[0]!);
    expect(inputs(await claim(queue))).toEqual(["a3", "a4"]);
  });

  it("wait for one that is to be tried later, and end in order when leases are lost", async () => {
    const queue = await ordered();
    await fill(queue, ["a", 3]);
    const jobs = await claim(queue, 2);
    await db.engine.retryLater(jobs[0]!, { message: "no" }, 30);
    await db.engine.complete(jobs[1]!);
    expect(await claim(queue)).toEqual([]);
    await db.moveClock(31);
    expect(inputs(await claim(queue))).toEqual(["a1", "a3"]);
    await db.moveClock(61);
    const lost = await claim(queue);
    expect(inputs(lost)).toEqual(["a1", "a3"]);
    expect(lost.map((job) => job.attempt)).toEqual([3, 2]);
  });

  it("go on when the one that came back is cancelled, dropped by a purge, or when the queue is in no order any more", async () => {
    const [one, two, three] = [await ordered(), await ordered(), await ordered()];
    for (const queue of [one, two, three]) await fill(queue, ["a", 3]);
    const [first] = await claim(one, 1);
    await db.engine.release(first!, 1000);
    expect(await claim(one)).toEqual([]);
    await db.engine.cancel([first!.id]);
    expect(inputs(await claim(one))).toEqual(["a2", "a3"]);

    const [held] = await claim(two, 1);
    await db.engine.release(held!);
    await db.engine.queuePurge(two);
    await fill(two, ["b", 1]);
    expect(inputs(await claim(two))).toEqual(["b1"]);
    expect(await db.engine.queueDepth(two)).toMatchObject({ ready: 0, delayed: 0, running: 1 });

    const [now, late] = await claim(three, 2);
    await db.engine.release(now!);
    await db.engine.release(late!, 5);
    await db.engine.queuePut(three, { ordered: false });
    await db.moveClock(6);
    await db.engine.maintain();
    expect(sorted(inputs(await claim(three)))).toEqual(["a1", "a2", "a3"]);
  });

  it.each([
    ["commit", ["a2", "a3"]],
    ["rollback", ["a1", "a2", "a3"]],
  ])(
    "let nothing go before a job that somebody may cancel, and go on in order after the %s [#158]",
    async (end, rest) => {
      const queue = await ordered();
      await fill(queue, ["a", 3], ["b", 1]);
      const first = (await db.engine.list({ queue })).find(({ input }) => input === "a1");
      const tx = await db.connect();
      await tx.query("begin");
      await db.engine.cancel([first!.id], undefined, { tx });
      expect(inputs(await claim(queue))).toEqual(["b1"]);
      await db.engine.maintain();
      expect(await claim(queue)).toEqual([]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 3, running: 1 });
      await tx.query(end);
      await db.engine.maintain();
      expect(inputs(await claim(queue))).toEqual(rest);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 1 + rest.length });
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );

  it("keep their order among ten that claim, release, lose and complete at random", async () => {
    const queue = await ordered();
    const groups = times(5).map((n) => `g${n}`);
    for (const i of times(20))
      for (const group of groups) await db.engine.enqueue({ type: "t", queue, group, input: i, maxAttempts: 1000 });
    const ended = new Map<string, number[]>(groups.map((group) => [group, []]));
    const held = new Map<string, Set<number>>(groups.map((group) => [group, new Set()]));
    let left = 100;
    const deadline = Date.now() + 60_000;
    const wrong: string[] = [];
    await Promise.all(
      times(10).map(async (n) => {
        for (let turn = n; left > 0; turn += 1) {
          if (Date.now() > deadline) throw new Error(`${left} jobs left: ${await factsOf(queue)}`);
          const jobs = await db.engine.claim({ queues: [queue], limit: 1 + (turn % 7), leaseSeconds: 60 });
          for (const { group, input } of jobs.map((job) => ({ group: job.group!, input: Number(job.input) }))) {
            const running = held.get(group)!;
            for (const other of running)
              if (other < input && !jobs.some((job) => job.group === group && job.input === other))
                wrong.push(`${group}: ${input} beside ${other}`);
            if (input < (ended.get(group)!.at(-1) ?? -1))
              wrong.push(`${group}: ${input} after ${ended.get(group)!.at(-1)}`);
          }
          for (const { group, input } of jobs) held.get(group!)!.add(Number(input));
          let isCut = new Set<string>();
          for (const [i, job] of jobs.entries()) {
            const fate = (turn * 31 + i * 7) % 5;
            held.get(job.group!)!.delete(Number(job.input));
            // In order, as a consumer does: what follows one that failed is given back too.
            if (fate === 0 || isCut.has(job.group!)) {
              isCut = isCut.add(job.group!);
              if (fate === 1) await db.engine.setVisibility(job, 0);
              else await db.engine.release(job);
            } else {
              ended.get(job.group!)!.push(Number(job.input));
              left -= 1;
              await db.engine.complete(job);
            }
          }
        }
      }),
    );
    expect(wrong).toEqual([]);
    for (const group of groups) expect(ended.get(group)).toEqual(times(20));
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  }, 120_000);

  it("keep what came back when what follows it has too many bytes for the claim", async () => {
    const queue = await ordered();
    const seen: string[] = [];
    for (const kind of ["same", "other"]) {
      await db.engine.enqueue({ type: "t", queue, group: "a", input: `${kind}1` });
      const [first] = await claim(queue);
      await db.engine.release(first!);
      await db.engine.enqueue({ type: "t", queue, group: "a", input: "x".repeat(50_000) });
      await db.engine.enqueue({ type: "t", queue, input: "y".repeat(2000) });
      if (kind === "other") await db.engine.enqueue({ type: "t", queue, group: "b", input: "z".repeat(50_000) });
      for (let quiet = 0; quiet < 2;) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 10, maxBytes: 3000 });
        quiet = jobs.length === 0 ? quiet + 1 : 0;
        for (const job of jobs) seen.push((job.input as string).slice(0, 6));
        for (const job of jobs) await db.engine.complete(job);
      }
    }
    expect(sorted(seen)).toEqual(sorted(["same1", "xxxxxx", "yyyyyy", "other1", "xxxxxx", "yyyyyy", "zzzzzz"]));
  });
});

describe("lostAlone: false", () => {
  it("lets jobs whose lease ended go together again", async () => {
    for (const lostAlone of [true, false]) {
      const queue = await newQueue(db, { lostAlone });
      await db.engine.enqueueMany("t", times(5), { queue });
      expect(await claim(queue)).toHaveLength(5);
      await db.moveClock(61);
      expect(await claim(queue)).toHaveLength(lostAlone ? 1 : 5);
    }
  });
});
