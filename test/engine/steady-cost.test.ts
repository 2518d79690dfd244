import type pg from "pg";
import { describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { percentile } from "../support/steps.js";

const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("heartbeats", () => {
  it("change no indexed column: every update is HOT [#109]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(50), { queue });
    const tokens: string[] = [];
    for (const _ of times(10)) tokens.push((await db.engine.claim({ queues: [queue], limit: 5 }))[0]!.token);
    const tx = await db.connect();
    await tx.query("begin");
    const before = await updates(tx);
    // Two beats of ten rows fit into the room the table leaves in its pages, whatever old snapshots others hold.
    for (const beat of times(2)) expect((await db.engine.claimExtend(tokens, 60 + beat, { tx })).size).toBe(10);
    const after = await updates(tx);
    await tx.query("commit");
    expect({ all: after.all - before.all, hot: after.hot - before.hot }).toEqual({ all: 20, hot: 20 });
  });

  async function updates(tx: pg.Client): Promise<{ all: number; hot: number }> {
    const { rows } = await tx.query(
      "select n_tup_upd as all, n_tup_hot_upd as hot from pg_stat_xact_user_tables where relid = 'claim'::regclass",
    );
    return { all: Number(rows[0].all), hot: Number(rows[0].hot) };
  }
});

describe("a steady hundred live jobs", () => {
  const controls = ["claim", "lane_cursor", "agenda", "tally", "lane_depth", "fingerprint", "scout", "lane_purge"];

  it("keep live tables and their indexes small and cycles as cheap as the first, also after an old snapshot [#103] [#110]", async () => {
    const queue = await newQueue(db);
    const client = await db.connect();
    await db.engine.enqueueMany("t", times(100), { queue }, { tx: client });
    let held = await db.engine.claim({ queues: [queue], limit: 10 }, { tx: client });

    await run(200); // a claim looks at up to four pages for lost ones, whatever their number; let them fill first
    const sizeAtStart = await size(client);
    const first = await run(100);
    await run(300);
    const last = await leastOf(3, () => run(50));
    expect(await size(client)).toBeLessThan(20 * sizeAtStart);
    // pages, not time: dead rows that vacuum has not reached yet are touched too
    expect(last / first).toBeLessThanOrEqual(2);

    const idle = await db.connect();
    await idle.query("begin isolation level repeatable read; select count(*) from claim");
    await run(200);
    await idle.query("commit");
    await db.engine.maintainSpace({ compactBound: 200 });
    const recovered = await leastOf(3, () => run(50));
    expect(recovered / first).toBeLessThanOrEqual(2);
    expect(await size(client)).toBeLessThan(20 * sizeAtStart);

    /**
     * Cycles of finishing ten jobs, claiming ten and enqueueing ten; every tenth attempt is retried. Returns the pages
     * of live tables that one cycle touches.
     */
    async function run(cycles: number): Promise<number> {
      const before = await pagesTouched(client);
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        held = await cycleOnce(held);
        if (cycle % 100 === 99) await db.engine.maintain({ tx: client });
      }
      return ((await pagesTouched(client)) - before) / cycles;
    }

    async function cycleOnce(jobs: ClaimedJob[]): Promise<ClaimedJob[]> {
      const settlements = [...new Set(jobs.map((job) => job.token))].flatMap((token) => {
        const mine = jobs.filter((job) => job.token === token);
        const again = mine.filter((job) => job.attempt === 1 && Number(job.input) % 10 === 0).map((job) => job.id);
        const done = mine.filter((job) => !again.includes(job.id)).map((job) => job.id);
        return [
          { token, outcome: "succeeded", jobs: done } as const,
          { token, outcome: "retryLater", jobs: again, delaySeconds: 0 } as const,
        ].filter((one) => one.jobs.length > 0);
      });
      await db.engine.enqueueMany("t", times(10), { queue }, { tx: client });
      return (await db.engine.settle(settlements, { queues: [queue], limit: 10 }, { tx: client })).claimed;
    }
  }, 180_000);

  /** The least of some measurements: transactions in other databases of the server disturb one, but hardly all. */
  async function leastOf(tries: number, measure: () => Promise<number>): Promise<number> {
    let least = Infinity;
    for (let n = 0; n < tries; n += 1) least = Math.min(least, await measure());
    return least;
  }

  async function size(client: pg.Client): Promise<number> {
    const { rows } = await client.query(
      "select sum(pg_total_relation_size(name::regclass)) as bytes from unnest($1::text[]) name",
      [controls],
    );
    return Number(rows[0].bytes);
  }

  /**
   * Make what this session has done show in the server's statistics. PostgreSQL 14 cannot be asked: it reports, and
   * shows, at most every half second.
   */
  async function flushStatistics(client: pg.Client): Promise<void> {
    const { rows } = await client.query("select current_setting('server_version_num')::int >= 150000 as can_be_asked");
    for (const text of rows[0].can_be_asked
      ? ["select pg_stat_force_next_flush()"]
      : times(2).map(() => "select pg_sleep(0.6)"))
      await client.query(text);
  }

  async function pagesTouched(client: pg.Client): Promise<number> {
    await flushStatistics(client);
    const { rows } = await client.query(
      `select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)) as pages from pg_statio_user_tables where relid = any ($1::regclass[])`,
      [controls],
    );
    return Number(rows[0].pages);
  }
});

describe("a claim among many failed jobs", () => {
  // The statement speaks of a million; a cost that grew with their number would show at this one as well.
  const many = 100_000;

  it("touches as many pages as one among none [#102]", async () => {
    const queue = await newQueue(db);
    const client = await db.connect();
    await measure(client, queue); // the session's first calls read the catalog
    const alone = await measure(client, queue);

    for (let n = 0; n < many / 10_000; n += 1) {
      await db.sql(
        `select from job_enqueue_many((select json_agg(n) from generate_series(1, 10000) n), json_build_object('type', 't', 'queue', $1::text))`,
        [queue],
      );
      const [first] = await db.engine.claim({ queues: [queue], limit: 10_000 });
      await db.sql("select job_fail($1)", [first!.token]);
    }
    expect(await db.sql("select count(*)::int as failed from attempt where state = 'failed'")).toEqual([
      { failed: many },
    ]);
    const among = await measure(client, queue);
    expect(percentile(among, 0.5) / percentile(alone, 0.5)).toBeLessThanOrEqual(1.2);
    // Not the very last: fresh statistics make a session plan anew, once, and that reads the catalog.
    expect(percentile(among, 0.95) / percentile(alone, 0.95)).toBeLessThanOrEqual(1.2);
  });

  /** Pages that each of 100 claims touches, one ready job each. */
  async function measure(client: pg.Client, queue: string): Promise<number[]> {
    for (const input of times(100)) await db.engine.enqueue({ type: "t", queue, input });
    const pages: number[] = [];
    for (let n = 0; n < 100; n += 1) {
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) select job_claim_json('{${queue}}', null, 1, 'w', 3600)`,
      );
      const plan = rows[0]["QUERY PLAN"][0].Plan;
      pages.push(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
    }
    const { rows } = await client.query(
      "delete from claim where lane in (select l.key from lane l join queue q on q.id = l.queue_id where q.name = $1)",
      [queue],
    );
    expect(rows).toEqual([]);
    return pages;
  }
});
