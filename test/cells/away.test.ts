import { expect, it, onTestFinished } from "vitest";
import type { Millrace } from "../../src/client/with-workers.js";
import { DatabaseUnavailableError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import { createHandler } from "../../src/server/handler.js";
import { useCellMills } from "../support/cell-mills.js";
import { type Proxy, startProxy } from "../support/proxy.js";
import { fired, gate, until } from "../support/wait.js";

const work = defineJob<string, null>("work");
const cells = useCellMills({ ownServers: false });

/** A client of all cells that comes to one of them through a network. */
async function through(cell: "a" | "b" | "c"): Promise<{ readonly mill: Millrace; readonly proxy: Proxy }> {
  const proxy = await startProxy(cells.urls[cell]);
  const far = { connectionString: proxy.url, connectionTimeoutMillis: 2000 };
  return { mill: cells.open({ cells: { ...cells.urls, [cell]: far } }), proxy };
}

async function queueIn(cell: string, mill: Millrace): Promise<string> {
  const queue = await cells.nameIn(cell, mill);
  await mill.queues.put(queue);
  return queue;
}

it("[#230] a transaction of ours leaves none open where a cell is away, and nothing of it is done later", async () => {
  const { mill, proxy } = await through("b");
  const queue = await queueIn("a", mill);
  await queueIn("b", mill);
  const left = async (cell: "a" | "c"): Promise<number> => {
    const text =
      "select from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and xact_start is not null and pid <> pg_backend_pid()";
    return (await cells.dbs[cell].sql(text)).length;
  };
  proxy.cut();
  const refused: unknown[] = [];
  for (let n = 0; n < 3; n += 1)
    await mill.engine
      .transaction(async (tx) => {
        await mill.engine.enqueue({ queue, type: "acted" }, { tx });
        await mill.engine.typePut("away", { maxAttempts: 3 }, { tx });
      })
      .catch((error: unknown) => refused.push(error));
  expect(refused).toHaveLength(3);
  for (const error of refused) {
    expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect(String(error)).toContain('cell "b"');
  }
  for (const cell of ["a", "c"] as const)
    await until(`nothing is open in ${cell}`, async () => (await left(cell)) === 0);
  expect((await cells.dbs.a.engine.count({ type: "acted" })).ready).toBe(0);

  // what was told of it may do without it
  await mill.engine.transaction(async (tx) => {
    await mill.engine.enqueue({ queue, type: "acted" }, { tx });
    await expect(mill.engine.typePut("away", { maxAttempts: 3 }, { tx })).rejects.toThrow('cell "b"');
  });
  expect((await cells.dbs.a.engine.count({ type: "acted" })).ready).toBe(1);
  proxy.mend();

  // a call that comes when the transaction has ended is nobody's
  let late: Promise<unknown> = Promise.resolve();
  await mill.engine.transaction(async (tx) => {
    await mill.engine.enqueue({ queue, type: "acted" }, { tx });
    late = Promise.resolve().then(async () => {
      await until("it has ended", async () => (await cells.dbs.a.engine.count({ type: "acted" })).ready === 2);
      await mill.engine.enqueue({ queue, type: "acted" }, { tx });
    });
    late.catch(() => {});
  });
  await expect(late).rejects.toThrow("has ended");
  expect((await cells.dbs.a.engine.count({ type: "acted" })).ready).toBe(2);
  expect(await left("a")).toBe(0);
});

it("[#228] [#230] a worker goes on in other cells beside one that hangs, and stops when it is told to", async () => {
  const { mill, proxy } = await through("b");
  const queues = [await queueIn("a", mill), await queueIn("b", mill)];
  const worker = cells.worker(mill, queues);
  const busy = gate();
  worker.handle(work, async ({ input }, { signal }) => {
    if (input === "long") await Promise.race([busy.opened, fired(signal)]);
    return null;
  });
  await worker.start();
  await mill.enqueue(work, "long", { queue: queues[1]! });
  await until("it works in both", () => worker.held === 1);
  const leases = async (): Promise<unknown> =>
    (await cells.dbs.a.sql("select until from cell_lease where until > now()")).map(({ until: end }) => String(+end));
  proxy.freeze();
  for (let times = 0; times < 3; times += 1) {
    const before = await leases();
    await until("the lease of another is prolonged", async () => {
      worker.wake(); // a round begins
      return String(await leases()) !== String(before);
    });
  }
  const inputs = Array.from({ length: 200 }, () => "short");
  const jobs = await mill.enqueueMany(work, inputs, { queue: queues[0]! });
  expect(await Promise.all(jobs.map((job) => mill.result(job)))).toEqual(inputs.map(() => null));

  const gentle = worker.stop();
  await worker.stop({ force: true });
  await gentle;
  expect(await leases()).toEqual([]);
  proxy.thaw();
});

it("[#230] a worker that is told to stop while it starts beside a cell that hangs does", async () => {
  const { mill, proxy } = await through("b");
  const queue = await queueIn("a", mill);
  const late = cells.open({
    cells: { ...cells.urls, b: { connectionString: proxy.url, connectionTimeoutMillis: 20_000 } },
  });
  const worker = cells.worker(late, [queue]);
  worker.handle(work, async () => null);
  proxy.freeze();
  const started = worker.start().then(
    () => "started",
    (error: unknown) => String(error),
  );
  await worker.stop({ force: true });
  proxy.thaw();
  expect(await started).toContain("stopped");
});

it("[#230] who works without a library keeps what other cells gave him while one hangs", async () => {
  const { mill, proxy } = await through("b");
  const queues = [await queueIn("a", mill), await queueIn("b", mill)];
  const handler = createHandler({ mill, user: () => ({ name: "ann", role: "admin" }), logger: false });
  onTestFinished(() => handler.close());
  const ask = async (path: string, body: object): Promise<{ readonly status: number; readonly body: any }> => {
    const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await handler.fetch(new Request(`http://localhost/api/v1${path}`, init));
    return { status: response.status, body: await response.json() };
  };
  for (const queue of queues) await mill.enqueueMany("work", [1, 2], { queue });
  const claimed = [await ask("/claims", { queues, limit: 2 }), await ask("/claims", { queues, limit: 2 })];
  const tokens: string[] = claimed.map(({ body }) => body.items[0].token);
  expect(await ask("/claims/extend", { tokens })).toMatchObject({ body: { items: [{}, {}] } });

  await mill.enqueueMany("work", [3, 4], { queue: queues[0]! });
  proxy.freeze();
  const extended = await ask("/claims/extend", { tokens });
  expect(extended).toMatchObject({
    status: 200,
    body: { items: [{ jobIds: expect.any(Array) }], missing: [{ cell: "b" }] },
  });
  expect(extended.body.items[0].jobIds.every((id: string) => id.startsWith("a:"))).toBe(true);
  const [ofA, ofBoth] = [mill.engine.claimExtend([extended.body.items[0].token]), mill.engine.claimExtend(tokens)];
  await expect(ofBoth).rejects.toThrow('cell "b"');
  expect((await ofA).size).toBe(1);
  // whichever cell comes first
  for (const times of [1, 2, 3])
    expect((await ask("/claims", { queues })).body.items, `time ${times}`).toHaveLength(times < 3 ? 1 : 0);
  await Promise.all([mill.engine.alertsCheck(), mill.engine.historySample(), mill.engine.maintain()]);
  proxy.thaw();
});

/** Messages of a queue that each cell has by itself, in these cells. */
async function sendTo(...names: readonly ("a" | "b")[]): Promise<void> {
  for (const name of names) await cells.dbs[name].engine.sqs.send([`"of ${name}"`], '{"type":"message"}', 1000);
}

it("[#230] jobs and messages that a cell hands out too late go back, and those of others are not held for it", async () => {
  const { mill } = await through("b");
  const queues = [await queueIn("a", mill), await queueIn("b", mill)];
  for (const queue of queues) await mill.enqueue("work", {}, { queue });
  await sendTo("a", "b");
  const lock = await cells.dbs.b.connect();
  await lock.query("begin");
  await lock.query("lock table claim in access exclusive mode");
  const [claimed, received] = await Promise.all([
    mill.engine.claim({ queues, limit: 2 }),
    mill.engine.sqs.receive("default", 10, 600),
  ]);
  expect(claimed.map(({ id }) => id[0])).toEqual(["a"]);
  expect(received.messages.map(({ body }) => body)).toEqual(["of a"]);
  await lock.query("rollback");
  await until("it can be claimed again", async () => (await mill.engine.claim({ queues })).length === 1);
  await until("it can be received again", async () => {
    const { messages } = await mill.engine.sqs.receive("default", 10, 600);
    return messages.some(({ body }) => body === "of b");
  });
});

it("messages that one cell has handed out are received when the next one fails", async () => {
  const mill = cells.open();
  await sendTo("a");
  const { b } = cells.dbs;
  await b.sql("alter function sqs_receive rename to sqs_receive_away");
  onTestFinished(async () => void (await b.sql("alter function sqs_receive_away rename to sqs_receive")));
  const receive = () => mill.engine.sqs.receive("default", 10, 600);
  // whichever cell comes first
  for (const times of [1, 2, 3]) {
    const { messages } = await receive();
    expect(
      messages.map(({ id, body }) => [id[0], body]),
      `time ${times}`,
    ).toEqual([["a", "of a"]]);
    await mill.engine.release(messages[0]!);
  }
  for (const message of (await receive()).messages) await mill.engine.complete(message);
  await expect(receive()).rejects.toThrow("sqs_receive");
});

it("[#230] [#202] a callback token of another cell counts while one is away", async () => {
  const { mill, proxy } = await through("a");
  const queue = await queueIn("b", mill);
  const tokens: string[] = [];
  const worker = cells.worker(mill, [queue]);
  worker.handle(defineJob<null>("asks"), async (_job, { step }) => {
    tokens.push(await step.token("answer"));
    return step.waitFor("answer");
  });
  await worker.start();
  const job = await mill.enqueue("asks", null, { queue });
  await until("it waits", () => tokens.length > 0);
  proxy.cut();
  await mill.answer(tokens[0]!, "yes");
  expect(await mill.result(job)).toBe("yes");
  await expect(
    mill.answer(
      tokens[0]!.replace(/\w$/, (last) => (last === "0" ? "1" : "0")),
      "no",
    ),
  ).rejects.toThrow('cell "a"');
  proxy.mend();
});
