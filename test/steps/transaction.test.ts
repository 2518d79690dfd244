import type pg from "pg";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import type { Database, Transaction } from "../../src/db/foreign.js";
import type { TransactionOf } from "../../src/steps/step.js";
import { type Connected, libraries } from "../support/libraries.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const book = defineJob<{ n: string }>("book", { retryDelay: 0 });

beforeAll(() => test.db.sql("create table public.bookings (n text)"));

const bookings = async (n: string): Promise<number> =>
  (await test.db.sql("select from public.bookings where n = $1", [n])).length;

describe.each(libraries)("step.transaction with $name", (library) => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await library.connect(test.db.url);
  });
  afterAll(() => connected?.close());
  const insert = (tx: Transaction, n: string) =>
    connected.write(tx, `insert into public.bookings values ('${n.replaceAll("'", "''")}')`);

  it("writes once, whatever fails before, in and after it [#191]", async () => {
    const n = `${library.name} once`;
    const queue = await test.queue();
    const fails = ["before", "inside", "after"];
    const worker = test.worker(queue).handle(book, async (_job, { step }) => {
      const failing = (place: string): void => {
        if (fails[0] !== place) return;
        fails.shift();
        throw new Error(place);
      };
      failing("before");
      const value = await step.transaction("book", connected.database, async (tx) => {
        await insert(tx as Transaction, n);
        failing("inside");
        return { stored: n };
      });
      failing("after");
      return value;
    });
    await worker.start();
    const job = await test.mill.enqueue(book, { n }, { queue });
    expect(await test.mill.result(job, { timeout: "20s" })).toEqual({ stored: n });
    expect(fails).toEqual([]);
    expect(await bookings(n)).toBe(1);
  });

  it("writes nothing when the job was taken away meanwhile [#184]", async () => {
    const n = `${library.name} lost`;
    const queue = await test.queue();
    let signal: AbortSignal | undefined;
    const worker = test.worker(queue).handle(book, async (job, context) => {
      ({ signal } = context);
      await context.step.transaction("book", connected.database, async (tx) => {
        await insert(tx as Transaction, n);
        await test.mill.cancel(job.id);
      });
    });
    await worker.start();
    const job = await test.mill.enqueue(book, { n }, { queue });
    await expect(test.mill.result(job, { timeout: "20s" })).rejects.toMatchObject({ state: "cancelled" });
    await expect.poll(() => signal?.aborted).toBe(true);
    await worker.stop();
    expect(await bookings(n)).toBe(0);
  });
});

it("step.transaction that failed is remembered: a handler that caught it goes the same way after a wait [#183] [#191]", async () => {
  const n = "remembered";
  const queue = await test.queue();
  const seen: unknown[] = [];
  let calls = 0;
  const worker = test.worker(queue).handle(book, async (job, { step }) => {
    const told = await step
      .transaction("book", test.db.pool, async (tx) => {
        await tx.query("insert into public.bookings values ($1)", [n]);
        if ((calls += 1) === 1) throw new Error("full");
        return "booked";
      })
      .catch((error: Error) => [error.name, error.message, (error.cause as Error).message]);
    seen.push(told);
    await step.sleep("then", "1ms");
    if (job.attempt === 1) throw new Error("try again");
    return told;
  });
  await worker.start();
  const job = await test.mill.enqueue(book, { n }, { queue, maxAttempts: 2 });
  expect(await test.mill.result(job, { timeout: "20s" })).toBe("booked");
  const failed = ["StepFailedError", 'step "book" failed: full', "full"];
  // the next attempt does it again
  expect(seen).toEqual([failed, failed, "booked"]);
  expect(await bookings(n)).toBe(1);
});

it("step.transaction whose commit was not answered has ended, if it was committed [#191]", async () => {
  const n = "not answered";
  const queue = await test.queue();
  let lost = 0;
  // a pool whose connection is lost when it should answer that it has committed
  const pool = {
    totalCount: 0,
    query: () => expect.fail("not in the transaction"),
    connect: async () => {
      const client = await test.db.pool.connect();
      return {
        release: () => client.release(),
        query: async (...args: [string | { text: string }, unknown[]]) => {
          const told: unknown = await client.query(...(args as [string, unknown[]]));
          const text = typeof args[0] === "string" ? args[0] : args[0].text;
          if (text === "commit" && (lost += 1) > 0) throw new Error("Connection terminated unexpectedly");
          return told;
        },
      };
    },
  } as unknown as pg.Pool;
  let calls = 0;
  const worker = test.worker(queue).handle(book, (_job, { step }) =>
    step.transaction("book", pool, async (tx) => {
      await tx.query("insert into public.bookings values ($1)", [n]);
      return (calls += 1);
    }),
  );
  await worker.start();
  const { id } = await test.mill.enqueue(book, { n }, { queue });
  expect(await test.mill.result(id, { timeout: "20s" })).toBe(1);
  expect([lost, await bookings(n)]).toEqual([1, 1]);
  expect((await test.mill.jobs.get(id))!.job).toMatchObject({ attempts: 1 });
});

it("step.transaction hands a client of a pool of pg to its work", () => {
  expectTypeOf<TransactionOf<pg.Pool>>().toEqualTypeOf<pg.PoolClient>();
});

it("step.transaction refuses what is no database, or a transaction already", async () => {
  const queue = await test.queue();
  const worker = test.worker(queue).handle(book, async (_job, { step }) => {
    const client = await test.db.pool.connect();
    try {
      return await Promise.all(
        [{}, client].map((db, i) =>
          step.transaction(`t${i}`, db as Database, () => 1).catch((error: unknown) => String(error)),
        ),
      );
    } finally {
      client.release();
    }
  });
  await worker.start();
  const told = await test.mill.result<string[]>(await test.mill.enqueue(book, { n: "" }, { queue }), {
    timeout: "20s",
  });
  expect(told[0]).toContain("not a database Millrace knows");
  expect(told[1]).toContain("a transaction already");
});
