import { beforeEach, describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { isBlocked } from "../support/sessions.js";
import { crossed, waitersOf } from "../support/steps.js";

/**
 * Calls that lock more than one row: whoever meets whom, nobody may be told of a deadlock. Not pairs: both are in the
 * middle of a call.
 */
const db = useDatabase();
let queue = "";
let scenes = 0;

beforeEach(async () => {
  queue = `q${(scenes += 1)}`;
  await db.engine.queuePut(queue);
});

const rejections = (results: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
const claimRow = ({ token }: ClaimedJob): string =>
  `select from claim where token = '${token}' and part = 0 for update`;

/** Until the call has ended, or this many sessions wait for locks. */
async function endsOrWaits(call: Promise<unknown>, sessions: number): Promise<void> {
  let hasEnded = false;
  const end = (): void => void (hasEnded = true);
  call.then(end, end);
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while (!hasEnded && (await db.sql(waiting)).length < sessions);
}

/**
 * Two claims of one job each, the older job under the higher token: whoever goes by job id and whoever goes by token
 * cross.
 */
async function twoClaims(): Promise<{ readonly older: ClaimedJob; readonly younger: ClaimedJob }> {
  const held: ClaimedJob[] = [];
  for (;;) {
    await db.engine.enqueue({ queue, type: "work" });
    const [younger] = await db.engine.claim({ queues: [queue] });
    const older = held.find(({ token }) => token > younger!.token);
    if (older) return { older, younger: younger! };
    held.push(younger!);
  }
}

describe("a heartbeat over several claims gets through, and so does [#101]", () => {
  it("a report on the same claims in another order", async () => {
    const { older, younger } = await twoClaims();
    const settled = (job: ClaimedJob) => ({ token: job.token, outcome: "succeeded" as const, jobs: [job.id] });
    const results = await crossed(
      db,
      [claimRow(younger), claimRow(older)],
      () => db.engine.claimExtend([younger.token, older.token]),
      () => db.engine.settle([settled(older), settled(younger)]),
    );
    expect(rejections(results)).toEqual([]);
  });

  it("a cancel of their jobs", async () => {
    const { older, younger } = await twoClaims();
    const results = await crossed(
      db,
      [claimRow(younger), claimRow(older)],
      () => db.engine.claimExtend([younger.token, older.token]),
      () => db.engine.cancel([older.id, younger.id]),
    );
    expect(rejections(results)).toEqual([]);
  });
});

describe("the reaper at a claim in two parts", () => {
  it("and a report on both of them both get through, when a deadline has passed [#71] [#101]", async () => {
    const deadline = new Date(Date.now() + 3_600_000);
    await db.engine.enqueueMany("work", [1, 2], { queue, deadline });
    const [held, apart] = await db.engine.claim({ queues: [queue], limit: 2, leaseSeconds: 5 });
    await db.engine.setVisibility(apart!, 5);
    await db.moveClock(3601);
    const [holder, reporter, reaper] = [await db.connect(), await db.connect(), await db.connect()];
    await holder.query("begin");
    await holder.query(claimRow(held!));
    const report = db.engine.completeMany(held!.token, [held!.id, apart!.id], undefined, { tx: reporter });
    await waitersOf(db, holder, 1);
    const reaping = reaper.query("select claim_reap(100)");
    await endsOrWaits(reaping, 2);
    await holder.query("commit");
    expect(rejections(await Promise.allSettled([report, reaping]))).toEqual([]);
  });
});

describe("a claim that reaps", () => {
  it("and a producer with two fingerprints both get through [#73] [#101]", async () => {
    await db.engine.enqueue({ queue, type: "work", fingerprint: "held", maxAttempts: 1 });
    await db.engine.claim({ queues: [queue], leaseSeconds: 5 });
    await db.engine.enqueue({ queue, type: "work", fingerprint: "waiting" });
    await db.engine.enqueue({ queue, type: "work" });
    await db.moveClock(6);
    const [producer, worker] = [await db.connect(), await db.connect()];
    await producer.query("begin");
    await db.engine.enqueue({ queue, type: "work", fingerprint: "held" }, { tx: producer });
    const claiming = db.engine.claim({ queues: [queue], limit: 10 }, { tx: worker });
    await isBlocked(db, claiming, producer);
    const replacing = db.engine.enqueue(
      { queue, type: "work", input: 2, fingerprint: "waiting", fingerprintMode: "replace" },
      { tx: producer },
    );
    const ended = await Promise.allSettled([replacing.finally(() => producer.query("commit")), claiming]);
    expect(rejections(ended)).toEqual([]);
  });
});

describe("two claimers over two lanes with nothing to hand out", () => {
  it("both come back with nothing [#25] [#101]", async () => {
    const [producer, holder, one, two] = [
      await db.connect(),
      await db.connect(),
      await db.connect(),
      await db.connect(),
    ];
    const types = ["left", "right"];
    await producer.query("begin");
    for (const type of types) await db.engine.enqueue({ queue, type }, { tx: producer });
    for (const type of types) await db.engine.enqueue({ queue, type });
    for (const job of await db.engine.claim({ queues: [queue], limit: 2 })) await db.engine.complete(job);
    await producer.query("rollback"); // both lanes have a late transaction to look after, so both are worth a try
    await holder.query("begin");
    await holder.query("select from lane_cursor for update");
    const first = db.engine.claim({ queues: [queue] }, { tx: one });
    await waitersOf(db, holder, 1);
    const second = db.engine.claim({ queues: [queue] }, { tx: two });
    await waitersOf(db, holder, 2);
    await holder.query("commit");
    expect(await Promise.allSettled([first, second])).toEqual([
      { status: "fulfilled", value: [] },
      { status: "fulfilled", value: [] },
    ]);
  });
});
