import { expect, it } from "vitest";
import type { Millrace } from "../../src/client/with-workers.js";
import type { Engine } from "../../src/db/engine.js";
import type { ClaimedJob, JobId } from "../../src/db/types.js";
import { useCellMills } from "../support/cell-mills.js";
import { startProxy } from "../support/proxy.js";
import { until } from "../support/wait.js";

const cells = useCellMills();
const engine = (cell: "a" | "b"): Engine => cells.dbs[cell].engine;
const open = (): Millrace => cells.open({ cells: { a: cells.urls.a, b: cells.urls.b } });

/** A queue of the first cell. */
async function queueIn(mill: Millrace, options: Parameters<Millrace["queues"]["put"]>[1] = {}): Promise<string> {
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue, options);
  return queue;
}

const claimIn = (cell: "a" | "b", queue: string): Promise<ClaimedJob[]> =>
  engine(cell).claim({ queues: [queue], limit: 10 });

it("[#236] what is done to a queue that moves reaches its jobs in both cells, from any process [#237]", async () => {
  const [mill, other] = [open(), open()];
  const queue = await queueIn(mill);
  await mill.enqueueMany("work", [1, 2], { queue });
  await mill.cells!.move(queue, "b", { detach: true });
  await mill.enqueue("work", 3, { queue });

  await other.queues.pause(queue);
  expect([await claimIn("a", queue), await claimIn("b", queue)]).toEqual([[], []]);
  await other.queues.put(queue, { maxAttempts: 7 });
  for (const cell of ["a", "b"] as const)
    expect(
      await cells.dbs[cell].sql("select options ->> 'maxAttempts' as n from queue where name = $1", [queue]),
    ).toEqual([{ n: "7" }]);
  // each cell would count for itself
  for (const call of [
    () => other.queues.put(queue, { maxRunning: 1 }),
    () => other.queues.put(queue, { onFailure: "pause" }),
    () => other.queues.groupPut(queue, "g", { maxRunning: 1 }),
    () => other.queues.close(queue),
  ])
    await expect(call()).rejects.toMatchObject({ code: "MR032", reason: "moving", remedy: expect.any(String) });
  for (const cell of ["a", "b"] as const)
    expect(await cells.dbs[cell].sql("select from queue where name = $1 and options ? 'maxRunning'", [queue])).toEqual(
      [],
    );

  for (const cell of ["a", "b"] as const)
    expect(await cells.dbs[cell].sql("select from group_setting where group_key = 'g'")).toEqual([]);
  await other.queues.groupPut(queue, "g", { weight: 3 });
  for (const cell of ["a", "b"] as const)
    expect(await cells.dbs[cell].sql("select weight from group_setting where group_key = 'g'")).toEqual([
      { weight: 3 },
    ]);

  await other.queues.resume(queue);
  const [one] = await engine("a").claim({ queues: [queue] });
  expect(await other.queues.purge(queue)).toBe(2);
  await engine("a").complete(one!);
  await mill.cells!.move(queue, "b");
  await other.queues.put(queue, { maxRunning: 1 });
  await other.queues.pause(queue);
  await mill.queues.resume(queue);
  await expect(mill.queues.resume(queue)).rejects.toMatchObject({ code: "MR001" });
});

it("[#237] a failure that pauses a queue holds it in both cells until it is decided, from any process", async () => {
  const [mill, other] = [open(), open()];
  const queue = await queueIn(mill, { onFailure: "pause" });
  const failing = await mill.enqueue("work", 1, { queue });
  await mill.cells!.move(queue, "b", { detach: true });
  await mill.enqueue("work", 2, { queue });
  await engine("a").fail((await claimIn("a", queue))[0]!, { message: "no" });
  expect(await claimIn("b", queue)).toEqual([]);
  expect((await other.queues.pauses()).map(({ jobId }) => jobId)).toContain(failing.id);
  expect(await other.retry(failing)).toBe(true);
  await other.queues.resume(queue);
  expect(await claimIn("b", queue)).toEqual([]);
  await engine("a").fail((await claimIn("a", queue))[0]!, { message: "no" });
  await other.queues.resume(queue);
  await other.jobs.discard(failing.id);
  await mill.cells!.move(queue, "b");
  expect(await claimIn("b", queue)).toMatchObject([{ input: 2 }]);
});

it(
  "[#236] failed jobs that a queue has left behind go on where it is, each once [#237]",
  { timeout: 180_000 },
  async () => {
    const [mill, other] = [open(), open()];
    const queue = await queueIn(mill, { maxRunning: 1 });
    const failed: JobId[] = [];
    const payload = Buffer.alloc(200_000, 7);
    for (const options of [{}, { fingerprint: "print" }, { payload, contentType: "x/y" }, { group: "g" }, {}]) {
      const { id } = await mill.enqueue("work", { big: 1, n: failed.length }, { queue, ttl: "1h", ...options });
      await engine("a").fail((await claimIn("a", queue))[0]!, { message: "no" });
      failed.push(id);
    }
    await mill.cells!.move(queue, "b");
    const [first, printed, large, grouped, stepped] = failed as [JobId, JobId, JobId, JobId, JobId];

    const again = async (): Promise<ClaimedJob | undefined> => {
      const [job] = await claimIn("b", queue);
      if (job) await engine("b").complete(job);
      return job;
    };
    expect(await other.retry(first, { attempts: 2, by: "ann" })).toBe(true);
    const job = await again();
    expect(job).toMatchObject({ type: "work", input: { big: 1, n: 0 }, source: { id: first, queue, carried: true } });
    expect((await mill.jobs.get(`b:${job!.id}`))?.job).toMatchObject({ maxAttempts: 2, expiresAt: expect.any(Date) });
    expect(await mill.jobs.decisions(first)).toMatchObject([
      { jobId: first, action: "discard", by: "ann", because: `retried as b:${job!.id}` },
    ]);
    expect(await mill.retry(first)).toBe(false);
    // broken off before the old cell knew of it
    await cells.dbs.a.sql("update amendment set discarded_at = null where job_id = $1", [first.slice(2)]);
    await mill.retry(first);
    expect(await again()).toBeUndefined();

    // its fingerprint is another one's now
    const live = await mill.enqueue("work", { n: 9 }, { queue, fingerprint: "print", delay: "1h" });
    expect(await mill.retry(printed)).toBe(false);
    await mill.cancel(live);
    expect(await mill.retry(printed)).toBe(true);
    expect(await again()).toMatchObject({ input: { n: 1 }, source: { id: printed } });

    // as the server does it: with the record of who did it, in one transaction
    const takenBack = new Error("taken back");
    const acting = mill.engine.transaction(async (tx) => {
      expect(await mill.engine.retry(1, { ids: [large] }, { tx })).toBe(1);
      throw takenBack;
    });
    await expect(acting).rejects.toBe(takenBack);
    expect(await again()).toBeUndefined();
    expect(await mill.engine.transaction((tx) => mill.engine.retry(1, { ids: [large] }, { tx }))).toBe(1);
    const withPayload = await again();
    expect(withPayload).toMatchObject({ contentType: "x/y" });
    expect(Buffer.from((await mill.engine.payloadRead(`b:${withPayload!.id}`))!).equals(payload)).toBe(true);

    // steps cannot come along; the others of its kind do
    await cells.dbs.a.sql(
      "insert into step (job_id, slot, at, kind, key, value) select id, slot, now(), 'done', 's', '1' from job where id = $1",
      [stepped.slice(2)],
    );
    await expect(mill.retry(stepped)).rejects.toMatchObject({
      code: "MR032",
      reason: "steps",
      remedy: expect.stringMatching(/discard/),
    });
    expect(await mill.jobs.retry({ type: "work", queue })).toBe(1);
    expect(await again()).toMatchObject({ input: { n: 3 }, group: "g", source: { id: grouped } });
    await cells.dbs.a.sql("delete from step");
    const past = new Date(0);
    expect(await mill.jobs.failureRetry({ queue, until: past, dryRun: true })).toBe(0);
    expect(await mill.jobs.failureRetry({ queue, until: past })).toBe(0);
    expect(await mill.jobs.failureRetry({ queue, since: past, dryRun: true })).toBe(1);
    expect(await mill.jobs.failureRetry({ queue, since: past })).toBe(1);
    expect(await again()).toMatchObject({ source: { id: stepped } });
    expect(await mill.jobs.failures({ queue })).toEqual([]);
    expect(await again()).toBeUndefined();
  },
);

it("[#236] a schedule is found after a move, and one whose run goes on keeps its slots where it is", async () => {
  const [mill, other] = [open(), open()];
  const queue = await queueIn(mill);
  const declare = (by: Millrace, name: string, input: number): Promise<unknown> =>
    by.engine.schedules.put(name, { rule: { every: "PT1H" }, job: { type: "work", queue }, input });
  const at = async (by: Millrace, name: string): Promise<unknown[]> =>
    (await by.engine.schedules.list({ name })).map(({ cell, input, nextSlot }) => ({ cell, input, nextSlot }));
  for (const name of ["busy", "free"]) await declare(mill, name, 1);
  await mill.engine.schedules.trigger("busy");
  const [run] = await claimIn("a", queue);
  const [busy] = await at(other, "busy");
  await at(other, "free");
  const moving = mill.cells!.move(queue, "b");
  moving.catch(() => {});
  await until("one has come", async () => (await engine("b").schedules.list({ name: "free" })).length > 0);

  expect(await at(other, "free")).toMatchObject([{ cell: "b" }]);
  expect(await declare(mill, "free", 2)).toMatchObject({ change: "changed" });
  expect(await declare(other, "busy", 2)).toMatchObject({ change: "changed" });
  expect(await at(other, "busy")).toEqual([{ ...(busy as object), input: 2 }]);
  expect(await engine("b").schedules.list({ name: "busy" })).toEqual([]);
  await engine("a").complete(run!);
  await moving;
  expect(await declare(other, "busy", 3)).toMatchObject({ change: "changed" });
  expect(await at(mill, "busy")).toMatchObject([{ cell: "b", input: 3 }]);
  for (const name of ["busy", "free"]) expect(await engine("a").schedules.list({ name })).toEqual([]);
});

it("[#239] lists of a queue that moves fail, or name the old cell, while that is away", async () => {
  const proxy = await startProxy(cells.urls.a);
  const mill = cells.open({ cells: { a: proxy.url, b: cells.urls.b } });
  const queue = await queueIn(mill);
  await mill.enqueueMany("moving", [1, 2, 3], { queue, delay: "1h" });
  await mill.enqueue("moving", 4, { queue, delay: "1h", fingerprint: "left" });
  await mill.cells!.move(queue, "b", { detach: true });
  await mill.enqueue("moving", 5, { queue, delay: "1h" });
  expect((await mill.queues.depth(queue)).delayed).toBe(5);
  const elsewhere = await cells.nameIn("b", mill);
  await mill.queues.put(elsewhere);
  for (const way of ["cut", "freeze"] as const) {
    proxy[way]();
    // the second time it is not asked again
    for (const time of [1, 2]) {
      const reads = [
        () => mill.queues.depth(queue),
        () => mill.jobs.list({ queue }),
        () => mill.engine.jobOf(queue, "left"),
      ];
      for (const read of reads) await expect(read(), `${way} ${time}`).rejects.toThrow('cell "a"');
      const { answer, missing } = await mill.cells!.partial(() => mill.jobs.list({ queue }));
      expect(answer).toHaveLength(1);
      expect(missing.map(({ cell }) => cell)).toEqual(["a"]);
      expect((await mill.queues.depth(elsewhere)).delayed).toBe(0);
    }
    if (way === "cut") proxy.mend();
    else proxy.thaw();
  }
});
