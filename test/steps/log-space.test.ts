import { describe, expect, it } from "vitest";
import type { RunSteps } from "../../src/db/types.js";
import { moveClockToNoon } from "../support/clock.js";
import { isLarge, patienceMs, sized } from "../support/large.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const day = 86_400;
const logs = "^(job|attempt|streak|step|edge|amendment|ticket)_[0-9]+$";

/** Of the logs: rows that were updated or deleted since the statistics began, and dead ones. */
async function spoiled(): Promise<{ updated: number; deleted: number; dead: number }> {
  await test.db.sql("select pg_stat_force_next_flush()");
  await test.db.sql("select pg_stat_clear_snapshot()");
  const [row] = await test.db.sql(
    `select sum(n_tup_upd)::int as updated, sum(n_tup_del)::int as deleted, sum(n_dead_tup)::int as dead
       from pg_stat_user_tables where schemaname = 'millrace' and relname ~ $1`,
    [logs],
  );
  return row as { updated: number; deleted: number; dead: number };
}

describe("checkpoints", () => {
  it(
    `${sized(20_000, 1_000_000).toLocaleString("en")} under a held snapshot update nothing and leave no dead row [#185]`,
    async () => {
      const { engine } = test.mill;
      const queue = await test.queue();
      const perRun = sized(100, 1000);
      const runs = 100;
      const rounds = sized(2, 10);
      await engine.enqueueMany("work", Array<null>(runs * rounds * 2).fill(null), { queue });
      /** All steps of as many runs, ten at a time of each, as a worker writes them. Returns how many a second. */
      const write = async (): Promise<number> => {
        const beganAt = performance.now();
        for (let round = 0; round < rounds; round += 1) {
          const jobs = await engine.claim({ queues: [queue], limit: runs, leaseSeconds: 3600 });
          expect(jobs).toHaveLength(runs);
          for (let n = 0; n < perRun; n += 10) {
            const steps = Array.from({ length: 10 }, (_, i) => ({
              key: `step-${n + i}`,
              kind: "done" as const,
              json: '{"paid":true}',
              ms: 1,
            }));
            const put: RunSteps[] = jobs.map(({ id, token }) => ({ token, job: id, steps }));
            expect(await engine.stepsPut(put)).toEqual([]);
          }
          await engine.completeMany(
            jobs[0]!.token,
            jobs.map(({ id }) => id),
          );
        }
        return (runs * perRun * rounds) / ((performance.now() - beganAt) / 1000);
      };
      const free = await write();
      const before = await spoiled();
      const holder = await test.db.connect();
      await holder.query("begin isolation level repeatable read; select count(*) from pg_class");
      const held = await write();
      const after = await spoiled();
      await holder.query("rollback");
      expect(after).toEqual(before);
      expect(after).toEqual({ updated: 0, deleted: 0, dead: 0 });
      // the ratio is bench/workflows' to judge; here it is told
      if (isLarge) console.log(`checkpoints/s: ${free.toFixed(0)} free, ${held.toFixed(0)} held`);
    },
    patienceMs,
  );
});

describe("jobs that sleep for 60 days", () => {
  it(
    `${sized(11_000, 1_000_000).toLocaleString("en")} of them keep no other day's space, and their own does not grow [#215]`,
    async () => {
      const { engine } = test.mill;
      const queue = await test.queue();
      const busy = await test.queue();
      await moveClockToNoon(test.db);
      const sleepers = sized(11_000, 1_000_000);
      for (let n = 0; n < sleepers; n += 10_000)
        await engine.enqueueMany("sleep", Array<null>(Math.min(10_000, sleepers - n)).fill(null), {
          queue,
          delaySeconds: 60 * day,
        });
      await test.db.sql(
        `update agenda set waits = '{"keys": ["nap"]}'
          where lane in (select l.key from lane_known l join queue q on q.id = l.queue_id where q.name = $1)`,
        [queue],
      );
      const [own] = await test.db.sql<{ slot: number }>(
        "select slot from job where queue_id = (select id from queue where name = $1) limit 1",
        [queue],
      );
      const sizes = async (): Promise<Map<number, number>> =>
        new Map(
          (
            await test.db.sql<{ slot: number; bytes: number }>(
              `select substring(c.relname from '[0-9]+$')::int as slot, sum(pg_table_size(c.oid))::float8 as bytes
                 from pg_class c join pg_namespace s on s.oid = c.relnamespace
                where s.nspname = 'millrace' and c.relname ~ '^(job|attempt|streak|step)_[0-9]{2}$' group by 1`,
            )
          ).map(({ slot, bytes }) => [slot, bytes]),
        );
      const first = (await sizes()).get(own!.slot)!;
      const filled = new Set<number>();
      for (let today = 1; today <= 59; today += 1) {
        await test.db.moveClock(day);
        const perDay = 500;
        await engine.enqueueMany("work", Array<null>(perDay).fill(null), { queue: busy });
        const jobs = await engine.claim({ queues: [busy], limit: perDay });
        await engine.stepsPut(
          jobs.map(({ id, token }) => ({ token, job: id, steps: [{ key: "one", kind: "done" as const, json: "1" }] })),
        );
        await engine.completeMany(
          jobs[0]!.token,
          jobs.map(({ id }) => id),
        );
        while ((await test.db.sql<{ n: number }>("select job_rotate() as n"))[0]!.n > 0);
        for (const [slot, bytes] of await sizes()) if (bytes > 100_000) filled.add(slot);
      }
      // only the last week, which is kept, and the sleepers' own day have anything; all days had
      const rows = await test.db.sql<{ slot: number; n: number; ended: number }>(
        `select j.slot, count(*)::int as n, count(*) filter (where j.type = 'work')::int as ended
           from job j group by 1 order by 1`,
      );
      expect(filled.size).toBe(32);
      expect(rows.find(({ slot }) => slot === own!.slot)).toMatchObject({ n: sleepers, ended: 0 });
      expect(rows.filter(({ slot }) => slot !== own!.slot).reduce((sum, { n }) => sum + n, 0)).toBeLessThanOrEqual(
        9 * 500,
      );
      const last = await sizes();
      const empty = [...last].filter(([slot]) => !rows.some((row) => row.slot === slot));
      expect(empty.length).toBeGreaterThanOrEqual(22);
      for (const [, bytes] of empty) expect(bytes).toBeLessThan(100_000);
      // a day of others came through their child once: it may have grown by that day, and by no more
      expect(last.get(own!.slot)! - first).toBeLessThan(1_000_000);
      // and they wake up
      await test.db.moveClock(2 * day);
      expect(await engine.claim({ queues: [queue], limit: 10 })).toHaveLength(10);
    },
    patienceMs,
  );
});
