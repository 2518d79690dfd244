// Producers: definitions, enqueue, enqueueMany, result, schedules, flows, transactions.
import { type NodePgDatabase } from "drizzle-orm/node-postgres";
import { type Knex } from "knex";
import { type ControlledTransaction, type Kysely, type Transaction as KyselyTransaction } from "kysely";
import {
  type AnyJobDefinition,
  type Enqueued,
  type EnqueuedFlow,
  type JobDefinition,
  type Json,
  type Millrace,
  type Scheduled,
  defineJob,
} from "millrace";
import { createTestMill } from "millrace/testing";
import type pg from "pg";
import type postgres from "postgres";
import type { DataSource, EntityManager, QueryRunner } from "typeorm";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import type { PrismaDatabase, PrismaTransaction } from "../support/prisma.js";

declare const mill: Millrace;
type Size = { width: number; height: number };
const resize = defineJob<{ key: string }, Size>("resize");
const plain = defineJob("plain");
const silent = defineJob<{ to: string }, void>("silent");
const checked = defineJob("checked", {
  input: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(1) }),
  result: z.object({ label: z.number().transform(String) }),
});

export function definitions(): void {
  expectTypeOf(resize).toEqualTypeOf<JobDefinition<{ key: string }, { key: string }, Size, Size>>();
  expectTypeOf(plain).toEqualTypeOf<JobDefinition>();
  expectTypeOf(checked).toEqualTypeOf<
    JobDefinition<{ at: string; n?: number | undefined }, { at: Date; n: number }, { label: number }, { label: string }>
  >();
  defineJob("x", { maxAttempts: 5, retryDelay: ["1s", "1m"], attemptTimeout: { minutes: 2 }, ttl: "1h", version: 1 });
  // @ts-expect-error -- there is no such option
  defineJob("x", { retryLimit: 3 });
  // @ts-expect-error -- a schema is of the Standard Schema form
  defineJob("x", { input: { type: "object" } });
}

export async function enqueue(any: AnyJobDefinition, either: AnyJobDefinition | string): Promise<void> {
  expectTypeOf(await mill.enqueue(resize, { key: "a" })).toEqualTypeOf<Enqueued<Size>>();
  await mill.enqueue(plain, null);
  await mill.enqueue("by-name", { whatever: 1 });
  await mill.enqueue(any, 1);
  await mill.enqueue(either, 1);
  await mill.enqueue(checked, { at: "2026-01-01" }, { delay: "5m", group: "g", headers: { a: 1 } });
  // @ts-expect-error -- the input is an object
  await mill.enqueue(resize, null);
  // @ts-expect-error -- the input is missing
  await mill.enqueue(resize);
  // @ts-expect-error -- the key is a text
  await mill.enqueue(resize, { key: 1 });
  // @ts-expect-error -- the key is missing
  await mill.enqueue(resize, {});
  // @ts-expect-error -- what the handler gets is not what goes in
  await mill.enqueue(checked, { at: new Date() });
  // @ts-expect-error -- the option has another name
  await mill.enqueue(plain, null, { delaySeconds: 5 });
}

export async function generic<In, Out>(definition: JobDefinition<In, unknown, unknown, Out>, input: In): Promise<void> {
  expectTypeOf(await mill.enqueue(definition, input)).toEqualTypeOf<Enqueued<Out>>();
  // @ts-expect-error -- that may be anything
  await mill.enqueue(definition, null);
}

export async function enqueueMany(stream: AsyncIterable<{ key: string }>, wrong: AsyncIterable<number>): Promise<void> {
  expectTypeOf(await mill.enqueueMany(resize, [{ key: "a" }])).toEqualTypeOf<Enqueued<Size>[]>();
  expectTypeOf(await mill.enqueueMany(resize, stream)).toEqualTypeOf<{ readonly count: number }>();
  await mill.enqueueMany("by-name", [1, "two"]);
  // @ts-expect-error -- one item is wrong
  await mill.enqueueMany(resize, [{ key: "a" }, { key: 2 }]);
  // @ts-expect-error -- one item is nothing
  await mill.enqueueMany(resize, [{ key: "a" }, null]);
  // @ts-expect-error -- all items are wrong
  await mill.enqueueMany(resize, wrong);
  // @ts-expect-error -- a text is no list
  await mill.enqueueMany(resize, "abc");
}

export async function result(untyped: Enqueued, either: AnyJobDefinition | string): Promise<void> {
  const job = await mill.enqueue(resize, { key: "a" });
  expectTypeOf(await mill.result(job)).toEqualTypeOf<Size>();
  expectTypeOf(await mill.result(await mill.enqueue(checked, { at: "" }))).toEqualTypeOf<{ label: string }>();
  expectTypeOf(await mill.result(await mill.enqueue(silent, { to: "a" }))).toEqualTypeOf<void>();
  expectTypeOf(await mill.result(await mill.enqueue(plain, 1), { timeout: "1m" })).toEqualTypeOf<Json>();
  expectTypeOf(await mill.result(await mill.enqueue("by-name", 1))).toEqualTypeOf<Json>();
  expectTypeOf(await mill.result(job.id)).toEqualTypeOf<Json>();
  expectTypeOf(await mill.result(untyped)).toEqualTypeOf<Json>();
  expectTypeOf(await mill.result((await mill.enqueueMany(resize, [{ key: "a" }]))[0]!)).toEqualTypeOf<Size>();
  // Where the definition does not know, the caller may say it.
  expectTypeOf(await mill.result<Size>(job.id)).toEqualTypeOf<Size>();
  expectTypeOf(await mill.result<Size>(await mill.enqueue(plain, 1))).toEqualTypeOf<Size>();
  expectTypeOf(await mill.result<Size>(await mill.enqueue(either, 1))).toEqualTypeOf<Size>();
  expectTypeOf(await mill.result<{ width: number }>(job)).toEqualTypeOf<{ width: number }>();
  // @ts-expect-error -- the definition says otherwise
  await mill.result<string>(job);
  // @ts-expect-error -- a job is no result
  await mill.result({ key: "a" });
  expectTypeOf<Enqueued<Size>>().toExtend<Enqueued>();
  expectTypeOf(mill.cancel(job)).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(mill.retry(job, { attempts: 2 })).toEqualTypeOf<Promise<boolean>>();
}

export async function schedules(): Promise<void> {
  expectTypeOf(await mill.schedule("a", { cron: "*/5 * * * *" }, resize, { key: "a" })).toEqualTypeOf<Scheduled>();
  await mill.schedule("a", { every: "1h" }, "by-name", null);
  await mill.repeat("a", "30s", resize, { key: "a" });
  // @ts-expect-error -- the input is missing
  await mill.schedule("a", { cron: "*/5 * * * *" }, resize, null);
  // @ts-expect-error -- the key is a text
  await mill.repeat("a", "30s", resize, { key: 1 });
  // @ts-expect-error -- there is no such rule
  await mill.schedule("a", { often: "1h" }, plain, null);
}

export async function flows(): Promise<void> {
  const flow = mill.flow({ name: "f" });
  const first = flow.add(resize, { key: "a" }, { priority: 1 });
  flow.add("by-name", null, { after: [first, "id"], when: "ended" });
  expectTypeOf(await flow.enqueue()).toEqualTypeOf<EnqueuedFlow>();
  // @ts-expect-error -- the key is a text
  flow.add(resize, { key: 1 });
  // @ts-expect-error -- the flow itself makes its jobs unique
  flow.add(plain, null, { fingerprint: "f" });
  // @ts-expect-error -- a job is waited for by what add() gave, or by its id
  flow.add(plain, null, { after: [resize] });
}

export async function tell(): Promise<void> {
  const job = await mill.enqueue(resize, { key: "a" });
  await mill.tell(job, "paid", { cents: 5 }, { id: "e-1" });
  await mill.tell({ fingerprint: "order-7" }, "paid");
  // @ts-expect-error -- a fingerprint, or an id
  await mill.tell({ queue: "orders" }, "paid");
}

export async function transactions(
  client: pg.PoolClient,
  own: pg.Client,
  pool: pg.Pool,
  sql: postgres.Sql,
  inSql: postgres.TransactionSql,
  drizzle: NodePgDatabase,
  kysely: Kysely<unknown>,
  inKysely: KyselyTransaction<unknown>,
  controlled: ControlledTransaction<unknown>,
  knex: Knex,
  inKnex: Knex.Transaction,
  prisma: PrismaDatabase,
  inPrisma: PrismaTransaction,
  source: DataSource,
  manager: EntityManager,
  runner: QueryRunner,
): Promise<void> {
  for (const tx of [client, own, inSql, inKysely, controlled, inKnex, inPrisma, manager, runner])
    await mill.enqueue(plain, null, { tx });
  await drizzle.transaction(async (tx) => {
    await mill.enqueue(plain, null, { tx, notify: true });
    await mill.queues.pause("mail", {}, { tx });
    await mill.jobs.list({}, { tx });
    await mill.flow().enqueue({ tx });
  });
  // @ts-expect-error -- any object
  await mill.enqueue(plain, null, { tx: {} });
  // @ts-expect-error -- another client of ours
  await mill.enqueue(plain, null, { tx: mill });
  // @ts-expect-error -- a promise of a client
  await mill.enqueue(plain, null, { tx: pool.connect() });
  // @ts-expect-error -- a whole database: each statement would commit by itself
  await mill.enqueue(plain, null, { tx: pool });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: sql });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: drizzle });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: kysely });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: knex });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: prisma });
  // @ts-expect-error -- a whole database
  await mill.enqueue(plain, null, { tx: source });
  // @ts-expect-error -- misspelt
  await mill.enqueue(plain, null, { txn: client });
}

export function middleware(): void {
  mill
    .use({
      async enqueue(call, next) {
        expectTypeOf(call.inputs).toEqualTypeOf<readonly unknown[]>();
        call.headers["request-id"] = "r-1";
        expectTypeOf(await next()).toEqualTypeOf<void>();
      },
      run: ({ jobs }, next) => (jobs[0]?.attempt === 1 ? next() : null),
    })
    .use({ codec: { write: (value, kind) => [kind, value], read: (value) => value } });
  // @ts-expect-error -- there is no such part
  mill.use({ result: () => 1 });
  // @ts-expect-error -- a codec reads too
  mill.use({ codec: { write: () => 1 } });
}

export async function testing(): Promise<void> {
  const test = await createTestMill();
  await test.expectEnqueued(resize, { key: "a" });
  await test.runInline(resize, { key: "a" }, (job) => ({ width: job.input.key.length, height: 1 }));
  // @ts-expect-error -- the handler forgets its result
  await test.runInline(resize, { key: "a" }, async () => {});
  // @ts-expect-error -- the key is a text
  await test.runInline(resize, { key: 1 }, () => ({ width: 1, height: 1 }));
}
