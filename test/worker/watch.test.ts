import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished } from "vitest";
import { startTransactionPooler } from "../cli/transaction-pooler.js";
import { countTransactions } from "../support/count-transactions.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { type ProcessOptions, type WorkerProcess, it } from "../support/processes.js";
import { until } from "../support/wait.js";

const db = useDatabase();

interface Keeper {
  readonly id: string;
  readonly at: number;
}

async function keepers(): Promise<Record<string, Keeper>> {
  const [row] = await db.sql("select holder from millrace.duty where name = 'watch'");
  return JSON.parse((row?.["holder"] as string | undefined) ?? "{}") as Record<string, Keeper>;
}

/** Enqueue as somebody who knows nothing but SQL. Returns how long it took until a handler began. */
async function pickUpMs(queue: string, workers: readonly WorkerProcess[]): Promise<number> {
  const [row] = await db.sql(
    "select job_id::text from millrace.job_enqueue('work', null, json_build_object('queue', $1::text))",
    [queue],
  );
  const since = performance.now();
  const id = row!["job_id"] as string;
  await until("somebody has it", () => workers.some((worker) => worker.ids("start").includes(id)));
  return performance.now() - since;
}

/** One after another, so that each finds the watch as the one before has left it. */
async function startAll(
  start: (options: ProcessOptions) => WorkerProcess,
  queue: string,
  count: number,
  url = db.url,
): Promise<WorkerProcess[]> {
  const workers: WorkerProcess[] = [];
  for (let n = 0; n < count; n += 1) {
    const worker = start({ url, queue, worker: { handleSignals: true } });
    await worker.hasSaid("ready");
    workers.push(worker);
  }
  return workers;
}

const keepingPids = async (): Promise<string[]> =>
  Object.keys(await keepers()).map((process) => process.split(":").at(-1)!);

describe("the watch", () => {
  it("is kept by three of many processes, and costs the same for all of them together [#117 #149]", async ({
    start,
    onTestFinished: whenFinished,
  }) => {
    const queue = await newQueue(db);
    const way = await countTransactions(db.url, whenFinished);
    const workers = await startAll(start, queue, 5, way.url);
    await until("three keep it", async () => (await keepingPids()).length === 3);
    await sleep(2000);
    const [from, at] = [way.transactions(), performance.now()];
    await sleep(12_000); // so that what is done each minute is not most of it
    const perSecond = (way.transactions() - from) / ((performance.now() - at) / 1000);
    expect(perSecond).toBeLessThan(2.5); // five that poll, do the upkeep and look for schedules: eight
    expect(perSecond).toBeGreaterThan(0.5);
    for (let n = 0; n < 4; n += 1) {
      expect(await pickUpMs(queue, workers)).toBeLessThan(1500); // a second, and what a busy machine adds
      await sleep(Math.random() * 500);
    }
  });

  it("goes on when one who keeps it is killed, or stops, and another takes the place [#117 #149]", async ({
    start,
  }) => {
    const queue = await newQueue(db);
    const workers = await startAll(start, queue, 4);
    await until("three of them keep it", async () => {
      const pids = await keepingPids();
      return workers.filter((worker) => pids.includes(String(worker.pid))).length === 3;
    });
    for (const [signal, maxMs] of [
      ["SIGKILL", 2500],
      ["SIGTERM", 1500],
    ] as const) {
      const [pid] = await keepingPids();
      const victim = workers.find((worker) => String(worker.pid) === pid)!;
      victim.kill(signal);
      await victim.exit;
      workers.splice(workers.indexOf(victim), 1);
      expect(await pickUpMs(queue, workers)).toBeLessThan(maxMs);
      const left = workers.length; // three, then two
      await until("all that are left keep it", async () => {
        const pids = await keepingPids();
        return pids.length === left && workers.every((worker) => pids.includes(String(worker.pid)));
      });
      expect(await pickUpMs(queue, workers)).toBeLessThan(1500);
    }
  });

  it("is not relied on by a worker that does not hear: that one polls [#117]", async ({ start }) => {
    const queue = await newQueue(db);
    const keeping = await newQueue(db);
    await startAll(start, keeping, 1); // somebody keeps the watch
    const pooler = await startTransactionPooler(db.url);
    onTestFinished(() => pooler.close());
    const worker = start({ url: pooler.url, queue, mill: { prepare: false } });
    await worker.hasSaid("ready");
    await until("the watch is kept", async () => (await keepingPids()).length === 1);
    for (let n = 0; n < 3; n += 1) expect(await pickUpMs(queue, [worker])).toBeLessThan(1500);
    expect(await keepingPids()).not.toContain(String(worker.pid));
  });

  it("ends for a worker whose connection is cut, and begins again with the next one [#117]", async ({ start }) => {
    const queue = await newQueue(db);
    const worker = start({ url: db.url, queue });
    await worker.hasSaid("ready");
    await until("it keeps the watch", async () => (await keepingPids()).includes(String(worker.pid)));
    await db.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace heartbeat'",
    );
    expect(await pickUpMs(queue, [worker])).toBeLessThan(1500);
    const before = Object.values(await keepers())[0]!.at;
    await until("it looks again", async () => (Object.values(await keepers())[0]?.at ?? 0) > before + 2);
  });
});

describe("a look", () => {
  const look = async (process: string, id: string, every = 1, mayKeep = true): Promise<Record<string, unknown>> => {
    const [row] = await db.sql("select millrace.watch_keep($1, $2, $3, $4) as look", [process, id, every, mayKeep]);
    return row!["look"] as Record<string, unknown>;
  };
  const forget = (): Promise<unknown> =>
    db.sql("update millrace.duty set holder = '{}', until = '-infinity' where name = 'watch'");

  it("gives each of three processes its turn, and lets all others stand by [#149]", async () => {
    await forget();
    expect(await look("a", "a1")).toMatchObject({ keeps: true, inSeconds: 1 });
    expect(await look("a", "a2")).toMatchObject({ keeps: false, kept: true, inSeconds: 30 });
    const turns = [await look("b", "b1"), await look("c", "c1")];
    expect(turns.map(({ inSeconds }) => Math.round(Number(inSeconds)))).toEqual([2, 3]);
    const standBy = [await look("d", "d1"), await look("e", "e1")];
    expect(standBy.map(({ keeps, inSeconds }) => [keeps, Math.round(Number(inSeconds))])).toEqual([
      [false, 32],
      [false, 34],
    ]);
    await db.moveClock(10); // none of them has come
    expect(await look("d", "d1")).toMatchObject({ keeps: true, inSeconds: 1 });
    expect(Object.keys(await keepers())).toEqual(["d"]);
  });

  it("is not kept by who may not do the upkeep, and who looks seldom does not slow others down [#149]", async () => {
    await forget();
    expect(await look("a", "a1", 1, false)).toMatchObject({ kept: false });
    expect(await look("b", "b1", 5)).toMatchObject({ keeps: true, inSeconds: 5 });
    expect(await look("a", "a1", 1, false)).toMatchObject({ kept: true, keeps: false });
    expect(await look("c", "c1")).toMatchObject({ keeps: true, inSeconds: 1 });
  });

  it("wakes the queues in which something is ready, due or lost, and no other [#117]", async () => {
    const [ready, due, lost, idle, paused] = await Promise.all(Array.from({ length: 5 }, () => newQueue(db)));
    const heard: string[] = [];
    const client = await db.connect();
    client.on("notification", ({ payload }) => heard.push(payload!));
    await client.query('listen "millrace:millrace"');
    const enqueue = (queue: string, options = {}): Promise<unknown> =>
      db.sql("select millrace.job_enqueue('t', null, $1::json)", [JSON.stringify({ queue, ...options })]);
    await enqueue(ready!);
    await enqueue(due!, { delaySeconds: 60 });
    await enqueue(paused!);
    await db.sql("select millrace.queue_pause($1)", [paused]);
    await enqueue(lost!);
    await db.sql("select * from millrace.job_claim(array[$1::text], p_lease_seconds => 50)", [lost]);
    await forget();
    await look("a", "a1");
    await until("it is heard", () => heard.includes(ready!));
    expect(heard).not.toContain(due);
    expect(heard).not.toContain(lost);
    await db.moveClock(70);
    await look("a", "a1");
    await until("they are heard", () => heard.includes(due!) && heard.includes(lost!));
    expect(heard).not.toContain(idle);
    expect(heard).not.toContain(paused);
  });
});
