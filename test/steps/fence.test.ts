import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Journal } from "../../src/steps/journal.js";
import { defineJob } from "../../src/job/define-job.js";
import { claimOne, enqueue, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { startProxy } from "../support/proxy.js";
import { isBlocked } from "../support/sessions.js";
import { leaseLost, randomFrom, wrongIsolation } from "../support/steps.js";
import { until } from "../support/wait.js";

const test = useMill();
const work = defineJob("work", { retryDelay: 0 });
const patience = { timeout: "40s" } as const;
const done = (key: string, json: string) => ({ key, kind: "done", json }) as const;

describe("SIGKILL", () => {
  it("between any two statements: what has a checkpoint is not done again, and gives what it gave [#183] [#203]", async () => {
    const queue = await test.queue();
    const seed = Date.now() % 1_000_000;
    console.log(`seed ${seed}`);
    const random = randomFrom(seed);
    await test.db.sql("create table public.deed (n serial, job bigint, name text, was_done boolean)");
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 30 }, (_, i) => i),
      { queue, maxAttempts: 50 },
    );
    for (const [i, { id }] of made.entries()) await test.mill.tell(id, "go", { i });
    const script = new URL("../support/steps-process.mjs", import.meta.url).pathname;
    const start = (dieAt: number) => {
      const options = { url: test.db.url, queue, dieAt, when: random(2) === 0 ? "before" : "after" };
      const worker = { lease: "1s", pollInterval: 50, concurrency: 1 + random(10) };
      const child = spawn(process.execPath, [script, JSON.stringify({ ...options, worker })], { stdio: "inherit" });
      onTestFinished(() => void child.kill("SIGKILL"));
      return { child, exit: once(child, "close") };
    };
    for (let kills = 0; kills < 5; kills += 1) expect((await start(2 + random(25)).exit)[1]).toBe("SIGKILL");
    const last = start(0);
    const results = await Promise.all(made.map((job) => test.mill.result(job, patience)));
    last.child.kill("SIGKILL");
    await last.exit;
    for (const [i, { id }] of made.entries()) {
      const deeds = await test.db.sql<{ n: number; name: string }>("select * from public.deed where job = $1", [id]);
      const valueOf = (name: string) => expect.toBeOneOf(deeds.filter((one) => one.name === name).map(({ n }) => n));
      expect(results[i]).toEqual({
        first: valueOf("first"),
        both: [valueOf("left"), valueOf("right")],
        signal: { i },
        one: { child: i },
        many: [{ child: 1 }, { child: 2 }],
        last: valueOf("last"),
      });
    }
    expect(await test.db.sql("select * from public.deed where was_done")).toEqual([]);
    const [children] = await test.db.sql("select count(*)::int as n from jobs where queue = $1 and type = 'child'", [
      queue,
    ]);
    expect(children).toEqual({ n: 90 });
  }, 60_000);
});

describe("a run that has lost its lease", () => {
  it("writes nothing: no checkpoint, no child, no wait; its successor's stand [#184]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const a = await claimOne(test.db, queue, { leaseSeconds: 0.05 });
    expect(await test.db.engine.stepsPut([{ token: a.token, job: id, steps: [done("one", "1")] }])).toEqual([]);
    let b = a;
    await until("somebody else has it", async () => {
      [b = a] = await test.db.engine.claim({ queues: [queue], leaseSeconds: 100 });
      return b.token !== a.token;
    });
    const late = [done("one", '"late"'), done("two", '"late"')];
    expect(await test.db.engine.stepsPut([{ token: a.token, job: id, steps: late }])).toEqual([id]);
    await expect(test.db.engine.stepStart(a, "child", [{ type: "child", queue }])).rejects.toMatchObject(leaseLost);
    const [row] = await test.db.sql(`select job_suspend($1, $2, '[{"key": "k", "seconds": 1}]')`, [a.token, id]);
    expect(row).toEqual({ job_suspend: [id] });
    await test.db.engine.stepsPut([{ token: b.token, job: id, steps: [done("two", '"b"')] }]);
    const steps = (await test.db.engine.stepsGet([id])).get(id)!;
    expect(steps.map(({ key, value }) => [key, value])).toEqual([
      ["one", 1],
      ["two", "b"],
    ]);
    expect(await stateOf(test.db, id)).toBe("running");
  });

  it("hears of it by its signal when it writes late [#184]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const slow = test.open({ connection: { connectionString: proxy.url, max: 6 } });
    const seen: string[] = [];
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const frozen = test
      .worker(queue, { lease: "1s", heartbeatThread: false }, slow)
      .handle(work, async (_job, { step, signal }) => {
        signal.addEventListener("abort", () => seen.push("signal"));
        const error = await step.run("one", () => gate.then(() => "a")).then(String, (reason: Error) => reason.name);
        seen.push(error);
      });
    await frozen.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it has begun", async () => (await stateOf(test.db, id)) === "running");
    await sleep(100);
    proxy.freeze();
    let b: Awaited<ReturnType<typeof claimOne>> | undefined;
    await until("somebody else has it", async () => {
      [b] = await test.db.engine.claim({ queues: [queue], leaseSeconds: 100 });
      return b !== undefined;
    });
    await test.db.engine.stepsPut([{ token: b!.token, job: id, steps: [done("one", '"b"')] }]);
    go();
    proxy.thaw();
    await until("it has heard", () => seen.length >= 2);
    expect(seen).toContain("signal");
    expect(seen).not.toContain("a");
    expect((await test.db.engine.stepsGet([id])).get(id)).toMatchObject([{ key: "one", value: "b" }]);
    await test.db.engine.complete(b!);
  });
});

describe("a checkpoint", () => {
  it("keeps everybody from taking the job until it is committed, and is not in the way of others [#184]", async () => {
    const queue = await test.queue();
    await test.db.engine.enqueueMany("work", [1, 2], { queue });
    const [a, b] = await test.db.engine.claim({ queues: [queue], limit: 2, leaseSeconds: 0.2 });
    const open = await test.db.connect();
    await open.query("begin");
    await test.db.engine.stepsPut([{ token: a!.token, job: a!.id, steps: [done("one", "1")] }], { tx: open });
    const beside = test.db.engine.stepsPut([{ token: b!.token, job: b!.id, steps: [done("one", "1")] }]);
    expect(await isBlocked(test.db, beside, open)).toBe(false);
    const extended = test.db.engine.claimExtend([a!.token], 0.2);
    expect(await isBlocked(test.db, extended, open)).toBe(false);
    await sleep(300);
    expect(await test.db.engine.claim({ queues: [queue] })).toEqual([]); // its lease has ended, and nobody reaps it
    const cancel = test.db.engine.cancel([a!.id]);
    expect(await isBlocked(test.db, cancel, open)).toBe(true);
    await open.query("commit");
    expect(await cancel).toBe(1);
    expect((await test.db.engine.stepsGet([a!.id])).get(a!.id)).toHaveLength(1);
  });

  it("that is sent again while the first time is under way is written once [#184]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const { token } = await claimOne(test.db, queue);
    const [first, { signal }] = [await test.db.connect(), new AbortController()];
    await first.query("begin");
    await test.db.engine.stepsPut([{ token, job: id, steps: [done("one", "1")] }], { tx: first });
    const again = new Journal(test.db.engine).put({ id, token }, [done("one", "1"), done("two", "2")], signal);
    expect(await isBlocked(test.db, again, first)).toBe(true);
    await first.query("commit");
    await again;
    expect((await test.db.engine.stepsGet([id])).get(id)).toHaveLength(2);
  });

  it("in a snapshot that is older than the table of claims is refused as that, and not as a lost lease [#184]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue);
    const old = await test.db.connect();
    await old.query("begin isolation level repeatable read");
    await old.query("select 1 from queue");
    await test.db.sql("begin; lock table claim in access exclusive mode; select table_rewrite('claim'); commit");
    const put = test.db.engine.stepsPut([{ token: held.token, job: id, steps: [done("one", "1")] }], { tx: old });
    await expect(put).rejects.toMatchObject(wrongIsolation);
    await old.query("rollback");
  });

  it("of a day that was moved since the snapshot is refused as that: nothing is done twice [#184]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue);
    await test.db.engine.stepsPut([{ token: held.token, job: id, steps: [done("one", "1")] }]);
    const old = await test.db.connect();
    await old.query("begin isolation level repeatable read");
    await old.query("select 1 from queue");
    await test.db.sql("select ring_rotate(job_slot($1), clock_now())", [id]);
    const put = test.db.engine.stepsPut([{ token: held.token, job: id, steps: [done("one", "2")] }], { tx: old });
    await expect(put).rejects.toMatchObject(wrongIsolation);
    await old.query("rollback");
    await old.query("begin isolation level repeatable read");
    await old.query("select 1 from queue");
    await test.db.sql("select ring_rotate(job_slot($1), clock_now())", [id]);
    const start = test.db.engine.stepStart(held, "two", [{ type: "child", queue }], { tx: old });
    await expect(start).rejects.toMatchObject(wrongIsolation);
    await old.query("rollback");
  });

  it("waits for a database that is away, and the attempt goes on: connections are cut meanwhile [#183]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const mill = test.open({ connection: { connectionString: proxy.url, max: 6 } });
    const calls: number[] = [];
    const child = defineJob("child");
    const worker = test
      .worker(queue, { lease: "3s" }, mill)
      .handle(work, async (_job, { step }) => {
        for (let i = 0; i < 30; i += 1) {
          await step.run(`one ${i}`, () => void calls.push(i));
          if (i % 10 === 0) await step.call(`child ${i}`, child, i, { queue });
        }
      })
      .handle(child, () => 1);
    worker.on("error", () => {});
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    for (let i = 0; i < 6; i += 1) {
      await sleep(60);
      proxy.cut();
      await sleep(40);
      proxy.mend();
    }
    await test.mill.result(id, patience);
    // the answer to a claim may be lost, and its lease has to end then; but nothing fails
    const { attempts } = (await test.mill.jobs.get(id))!;
    expect(attempts.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(calls).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });
});
