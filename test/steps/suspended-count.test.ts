import { describe, expect, it } from "vitest";
import type { Settlement } from "../../src/db/types.js";
import { useMill } from "../support/mill.js";

const test = useMill();

/** Jobs of a queue that are suspended, each for what `waits` says. */
async function park(queue: string, count: number, waits: readonly object[]): Promise<string[]> {
  const { engine } = test.mill;
  await engine.enqueueMany("wait", Array<null>(count).fill(null), { queue });
  const ids: string[] = [];
  while (ids.length < count) {
    const jobs = await engine.claim({ queues: [queue], limit: 1000 });
    await engine.settleAndClaim(
      jobs.map(({ id, token }) => ({ token, outcome: "suspended", jobs: [id], waits }) as unknown as Settlement),
      [],
    );
    ids.push(...jobs.map(({ id }) => id));
  }
  return ids;
}

const signal = [{ key: "go", signals: ["go"] }];

describe("how many jobs are suspended", () => {
  it("is counted beside the delayed ones, whatever becomes of them [#194]", async () => {
    const { engine } = test.mill;
    const queue = await test.queue();
    const counts = async (): Promise<(number | undefined)[]> => {
      const record = (await engine.queues()).find(({ name }) => name === queue);
      const { queues } = await one<{ queues: { queue: string; suspended: number }[] }>("select live_sample() as value");
      expect(queues.find((sample) => sample.queue === queue)?.suspended).toBe(record?.suspended);
      return [record?.delayed, record?.suspended];
    };
    const truth = (): Promise<boolean> =>
      one(`select not exists (
        select lane, sum(n) from (select lane, -n as n from suspended_tally
                                  union all select lane, 1 from agenda where waits is not null) x
         group by 1 having sum(n) <> 0) as value`);

    await engine.enqueue({ type: "wait", queue, delaySeconds: 600 });
    const ids = await park(queue, 5, signal);
    expect(await counts()).toEqual([6, 5]);
    await engine.tell(ids[0]!, "go");
    await engine.noticesDeliver();
    const [told] = await engine.claim({ queues: [queue], limit: 1 });
    await engine.complete(told!);
    await engine.cancel([ids[1]!]);
    expect(await truth()).toBe(true);
    expect((await counts())[1]).toBe(3);
    await park(queue, 1, [{ key: "nap", seconds: 60 }]);
    expect((await counts())[1]).toBe(4);
    await test.db.moveClock(100);
    await engine.maintain();
    expect((await counts())[1]).toBe(3);
    await test.db.sql("select table_rewrite('agenda')");
    await test.db.sql("select table_rewrite('suspended_tally')");
    expect([await truth(), (await counts())[1]]).toEqual([true, 3]);

    await test.db.sql("delete from suspended_tally"); // as from a release that did not count
    await test.db.sql("update duty set done_at = '-infinity' where name = 'suspended'");
    await engine.maintain();
    expect([await truth(), (await counts())[1]]).toEqual([true, 3]);
    await engine.queuePurge(queue);
    await engine.maintain();
    expect(await truth()).toBe(true);
    expect((await counts())[1]).toBe(0);
  });

  it("costs a job that waits for nothing no row", async () => {
    const { engine } = test.mill;
    const queue = await test.queue();
    const rows = (): Promise<number> => one("select count(*)::int as value from suspended_tally");
    const before = await rows();
    await engine.enqueue({ type: "wait", queue, delaySeconds: 0.001 });
    await engine.enqueue({ type: "wait", queue });
    for (const job of await engine.claim({ queues: [queue], limit: 9 }))
      await engine.retryLater(job, { message: "again" });
    expect(await rows()).toBe(before);
  });

  it("does not matter to who lists some of them, newest first, by queue too [#216]", async () => {
    const { engine } = test.mill;
    const queue = await test.queue();
    const other = await test.queue();
    const [old] = await park(other, 1, signal);
    const ids = await park(queue, 2500, signal);
    const told = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);
    expect(told(await engine.list({ state: "suspended", limit: 3 }))).toEqual(byAge(ids).slice(0, 3));
    expect(told(await engine.list({ state: "suspended", queue: other, limit: 10 }))).toEqual([old]);
    const next = { state: "suspended", queue, before: byAge(ids)[999]!, limit: 1000 } as const;
    expect(told(await engine.list(next))).toEqual(byAge(ids).slice(1000, 2000));
    expect(await engine.list({ state: "suspended", queue, limit: 10_000 })).toHaveLength(2500);
  });
});

const byAge = (ids: readonly string[]): string[] => ids.toSorted((a, b) => Number(BigInt(b) - BigInt(a)));

async function one<T>(text: string): Promise<T> {
  const [row] = await test.db.sql<{ value: T }>(text);
  return row!.value;
}
