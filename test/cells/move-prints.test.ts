import { expect, it } from "vitest";
import type { Millrace } from "../../src/client/with-workers.js";
import type { Engine } from "../../src/db/engine.js";
import { FingerprintElsewhereError } from "../../src/db/errors.js";
import type { Enqueued, JobId } from "../../src/db/types.js";
import { useCellMills } from "../support/cell-mills.js";
import { until } from "../support/wait.js";

const cells = useCellMills();
const engine = (cell: "a" | "b"): Engine => cells.dbs[cell].engine;
const open = (): Millrace => cells.open({ cells: { a: cells.urls.a, b: cells.urls.b } });

/** A queue that moves from a to b, with a job of a that has the fingerprint "lives". */
async function moving(mill: Millrace): Promise<{ queue: string; lives: JobId }> {
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue);
  const { id } = await mill.enqueue("work", 0, { queue, fingerprint: "lives" });
  await mill.cells!.move(queue, "b", { detach: true });
  return { queue, lives: id };
}

const cellOf = ({ id, duplicate }: Enqueued): string => `${id.split(":")[0]}${duplicate ? " again" : ""}`;

it("[#237] while a queue moves, every way to enqueue with fingerprints asks the cell that it comes from", async () => {
  const mill = open();
  const { queue, lives } = await moving(mill);
  const job = (fingerprint: string) => ({ type: "work", queue, fingerprint });
  const jobs = (...fingerprints: string[]) => fingerprints.map((one) => job(one));

  const each = await mill.engine.enqueueEach([...jobs("e1", "lives", "e2"), { type: "work", queue }]);
  expect(each.map(cellOf)).toEqual(["b", "a again", "b", "b"]);
  expect(each[1]!.id).toBe(lives);
  expect((await mill.engine.enqueueEach(jobs("lives", "e1"))).map(({ id }) => id)).toEqual([lives, each[0]!.id]);
  expect((await mill.engine.enqueueMany("work", [1, 2], { queue, fingerprint: "lives" })).map(cellOf)).toEqual([
    "a again",
    "a again",
  ]);
  expect((await mill.engine.enqueueMany("work", [1, 2], { queue, fingerprint: "m" })).map(cellOf)).toEqual([
    "b",
    "b again",
  ]);
  // in transactions of ours, as HTTP does it: a key of a request, of either cell, and a limit to waiting
  for (const key of ["k1", "k2", "k3", "k4"]) {
    const once = await mill.engine.transactionAfter(
      (tx) => tx.query({ text: "select set_config('lock_timeout', '5s', true)", values: [] }),
      (tx) =>
        mill.engine.server.once(
          key,
          "request",
          async () =>
            [
              await mill.engine.enqueue(job(`once ${key}`), { tx }),
              await mill.engine.enqueue(job("lives"), { tx }),
              ...(await mill.engine.enqueueEach(jobs(`each ${key}`, "lives"), { tx })),
            ] as never,
          { tx },
        ),
    );
    const made = once!.answer as unknown as Enqueued[];
    expect(once!.isNew).toBe(true);
    expect(made.map(cellOf)).toEqual(["b", "a again", "b", "a again"]);
    expect((await mill.jobs.get(made[0]!.id))?.job.state).toBe("ready");
  }
  // messages of SQS
  const sent = (...messages: object[]) =>
    mill.engine.sqs.send(
      messages.map((_, n) => `"body ${n}"`),
      JSON.stringify(messages),
      1000,
    );
  const window = { fingerprintMode: "window", fingerprintSeconds: 300 };
  expect((await sent({ ...job("s1"), ...window }, { ...job("lives"), ...window }, job("s2"))).map(cellOf)).toEqual([
    "b",
    "a again",
    "b",
  ]);
  expect((await mill.engine.sqs.send(['"x"'], JSON.stringify(job("lives")), 1000))[0]!.id).toBe(lives);
  // payloads that are streams
  for (const size of [3, 1_100_000]) {
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(size, 7);
    };
    const made = await mill.engine.transaction((tx) =>
      mill.engine.enqueueStream(job(`stream ${size}`), size, streams.get(size) ?? keep(size, stream()), { tx }),
    );
    expect(cellOf(made)).toBe("b");
    const payload = Buffer.from((await mill.engine.payloadRead(made.id, 0, size))!);
    expect(payload.equals(Buffer.alloc(size, 7))).toBe(true);
  }
  // in the caller's, it throws once
  const client = await cells.dbs.b.pool.connect();
  try {
    await client.query("begin");
    await expect(mill.engine.enqueue(job("theirs"), { tx: client })).rejects.toBeInstanceOf(FingerprintElsewhereError);
    await client.query("rollback; begin");
    expect(cellOf(await mill.engine.enqueue(job("theirs"), { tx: client }))).toBe("b");
    await client.query("commit");
  } finally {
    client.release();
  }
});

const streams = new Map<number, AsyncGenerator<Uint8Array>>();
/** One stream for all tries, as a request has. */
function keep(size: number, stream: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  streams.set(size, stream);
  return stream;
}

it("[#237] a batch of several queues is enqueued once, and a flow, where a queue has moved meanwhile", async () => {
  const [mill, mover, stale] = [open(), open(), open()];
  const [stays, moves] = [await cells.nameIn("a", mill), await cells.nameIn("a", mill)];
  for (const queue of [stays, moves]) await mill.queues.put(queue);
  const jobs = [stays, moves, stays].map((queue) => ({ type: "work", queue }));
  expect((await mill.engine.enqueueEach(jobs)).map(cellOf)).toEqual(["a", "a", "a"]);
  expect(await stale.cells!.whereIs(moves)).toBe("a");
  await mover.cells!.move(moves, "b", { detach: true });
  expect((await mill.engine.enqueueEach(jobs)).map(cellOf)).toEqual(["a", "b", "a"]);
  const flow = [1, 2].map((input) => ({ type: "work", input, options: { queue: moves } }));
  expect((await stale.engine.flowEnqueue(flow)).id).toMatch(/^b:/);
  expect((await mill.jobs.count({ queue: stays })).ready).toBe(4);
});

it("[#237] a fingerprint that outlives its job is known also between the end in the old cell and that of the move", async () => {
  const mill = open();
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue, { rate: { perSecond: 1, burst: 1000 } });
  const window = { queue, fingerprint: "w", fingerprintFor: "1h", fingerprintMode: "window" } as const;
  const { id } = await mill.enqueue("work", 1, window);
  await mill.cells!.move(queue, "b", { detach: true });
  await engine("a").complete((await engine("a").claim({ queues: [queue] }))[0]!);
  await until("it has ended in the old cell", async () => {
    await engine("a").maintain();
    return (await engine("a").moves.list()).some((move) => move.queue === queue && move.drainedAt !== null);
  });
  expect(await mill.enqueue("work", 2, window)).toMatchObject({ id, duplicate: true });
  const both = [{ fingerprint: "w", ...timed }, { fingerprint: "new" }];
  const made = await mill.engine.enqueueEach(both.map((one) => ({ type: "work", queue, ...one })));
  expect(made.map(cellOf)).toEqual(["a again", "b"]);
});

const timed = { fingerprintMode: "window", fingerprintSeconds: 3600 } as const;

it("[#237] a transaction that read its queue before that left finds the fingerprints that were handed over since", async () => {
  const mill = open();
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue, { enqueueRate: { perSecond: 1, burst: 10 } });
  const job = { type: "work", queue, tenant: "t", fingerprint: "f" };
  // its tenant keeps it waiting after it has read the queue
  const [other, slow] = [await cells.dbs.a.pool.connect(), await cells.dbs.a.pool.connect()];
  try {
    await other.query("begin");
    await engine("a").enqueue({ type: "work", queue, tenant: "t" }, { tx: other });
    await slow.query("begin");
    const { rows } = await slow.query<{ pid: number }>("select pg_backend_pid() as pid");
    const taken = engine("a").enqueue(job, { tx: slow });
    taken.catch(() => {});
    await until("it waits for the tenant", async () => {
      const waits = "select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1";
      return (await cells.dbs.a.sql(waits, [rows[0]!.pid]))[0]!["waits"] === true;
    });
    await mill.cells!.move(queue, "b", { detach: true });
    expect(cellOf(await mill.enqueue("work", 1, { queue, tenant: "t", fingerprint: "f" }))).toBe("b");
    await other.query("commit");
    await expect(taken).rejects.toMatchObject({ code: "MR030", cell: "b" });
    await slow.query("rollback");
  } finally {
    other.release(true);
    slow.release(true);
  }
});
