import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { MillraceError } from "../../src/db/errors.js";
import { migrate, thisRelease } from "../../src/db/migrate.js";
import { checkSchema } from "../../src/db/schema-version.js";
import type { CallOptions } from "../../src/db/foreign.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { pidOf } from "../support/sessions.js";
import {
  databaseUnavailable,
  invalidArgument,
  jobNotFound,
  leaseLost,
  payloadRefused,
  queueNotFound,
  recorded,
  schemaRestored,
  schemaVersion,
  waitersOf,
} from "../support/steps.js";

const db = useDatabase();
const token = "00000000-0000-4000-8000-000000000000";

beforeAll(() => db.sql("create table public.orders (n serial)"));

/** How many rows there are of everything that a call could have written. */
async function rowCounts(): Promise<unknown> {
  const tables = [
    "job",
    "ticket",
    "agenda",
    "claim",
    "attempt",
    "amendment",
    "fingerprint",
    "progress",
    "queue",
    "job_type",
    "tally",
    "scout",
  ];
  const [row] = await db.sql(
    `select ${tables.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(", ")}`,
  );
  return row;
}

/** A value no type checker would let through. */
const loose = (value: unknown): never => value as never;

type Act = (engine: Engine, call: CallOptions) => Promise<unknown>;
const nul = "a\0b";

describe("what needs no database to be refused", () => {
  const refused: readonly (readonly [string, Act])[] = [
    ["an unknown option of a job", (e, call) => e.enqueue(loose({ type: "t", prioritty: 1 }), call)],
    ["an unknown option of many jobs", (e, call) => e.enqueueMany("t", [1], loose({ queu: "a" }), call)],
    [
      "an unknown option of one job of a batch",
      (e, call) => e.enqueueEach([{ type: "t" }, loose({ type: "t", ttl: 1 })], call),
    ],
    ["an unknown option of a claim", (e, call) => e.claim(loose({ limt: 2 }), call)],
    ["an unknown option of a claim after settling", (e, call) => e.settle([], loose({ limt: 2 }), call)],
    [
      "an unknown option of a settlement",
      (e, call) => e.settle([loose({ token, outcome: "retryLater", jobs: ["1"], delay: 5 })], undefined, call),
    ],
    ["an unknown filter of a list", (e, call) => e.list(loose({ stat: "ready" }), call)],
    ["an unknown filter of a cancellation", (e, call) => e.cancelWhere(loose({ type: "t", queu: "a" }), call)],
    ["an unknown filter of added retries", (e, call) => e.retry(1, loose({ type: "t", queu: "a" }), call)],
    ["an unknown filter of failures", (e, call) => e.failures(loose({ queu: "a" }), call)],
    ["an unknown filter of failures to retry", (e, call) => e.failureRetry(loose({ persecond: 1 }), call)],
    ["an unknown option of a replay", (e, call) => e.replay(loose({ from: new Date() }), call)],
    ["an unknown part of breakers", (e, call) => e.breakerReset(loose({ queu: "a" }), call)],
    ["an unknown option of a redrive", (e, call) => e.queueRedrive("default", loose({ limt: 1 }), call)],
    ["an unknown word about a pause", (e, call) => e.queuePause("default", loose({ who: "me" }), call)],
    ["an unknown default of a queue", (e, call) => e.queuePut("default", loose({ lease: 5 }), call)],
    ["an unknown option of a call", (e, call) => e.enqueue({ type: "t" }, loose({ ...call, transaction: call.tx }))],
    ...[-1, 11, 2.5, Number.NaN].map((priority): [string, Act] => [
      `priority ${priority}`,
      (e, call) => e.enqueue({ type: "t", priority }, call),
    ]),
    ...[-1, Number.NaN, Infinity].map((delaySeconds): [string, Act] => [
      `a delay of ${delaySeconds} s`,
      (e, call) => e.enqueue({ type: "t", delaySeconds }, call),
    ]),
    ["a negative delay of a retry", (e, call) => e.retryLater({ id: "1", token }, undefined, -1, call)],
    ["a negative delay of a release", (e, call) => e.release({ id: "1", token }, -1, call)],
    ["NUL in the type", (e, call) => e.enqueue({ type: nul }, call)],
    ["NUL in the queue's name", (e, call) => e.enqueue({ type: "t", queue: nul }, call)],
    ["NUL in the tenant", (e, call) => e.enqueue({ type: "t", tenant: nul }, call)],
    ["NUL in the fingerprint", (e, call) => e.enqueueMany("t", [1], { fingerprint: nul }, call)],
    ["NUL in the headers", (e, call) => e.enqueue({ type: "t", headers: { h: nul } }, call)],
    ["NUL in the headers of many jobs", (e, call) => e.enqueueMany("t", [1], { headers: { deep: { h: nul } } }, call)],
    ["NUL in the worker's name", (e, call) => e.claim({ worker: nul }, call)],
    ["NUL in the reason of a cancellation", (e, call) => e.cancelWhere({ type: "t", because: nul }, call)],
    ["an input that is no JSON", (e, call) => e.enqueue({ type: "t", input: 1n }, call)],
    ["a result that is no JSON", (e, call) => e.complete({ id: "1", token }, Number.NaN, call)],
    ["a date that is none", (e, call) => e.enqueue({ type: "t", runAt: new Date(Number.NaN) }, call)],
    ["a token that is none", (e, call) => e.complete({ id: "1", token: "mine" }, 1, call)],
    ...["", "x", "-1", "1.5", "9223372036854775808", "1,2"].map((id): [string, Act] => [
      `"${id}" as an id`,
      (e, call) => e.cancel([id], undefined, call),
    ]),
    ["a number as an id", (e, call) => e.get(loose(1), call)],
  ];

  it.each(refused)("%s: typed, no statement sent, the caller's transaction goes on", async (_, act) => {
    const client = await db.connect();
    const tx = recorded(client);
    await client.query("begin");
    await expect(act(db.engine, { tx })).rejects.toMatchObject(invalidArgument);
    expect(tx.statements).toEqual([]);
    await expect(client.query("insert into public.orders default values")).resolves.toBeDefined();
    await client.query("commit");
    await client.end();
  });

  it("a suggestion comes with an unknown option", async () => {
    await expect(db.engine.enqueue(loose({ type: "t", prioritty: 1 }))).rejects.toMatchObject({
      remedy: 'did you mean "priority"?',
    });
  });

  it.each([
    ["an unknown option", { pool: {}, shcema: "x" }],
    ["a schema name that needs quoting", { pool: {}, schema: 'a"; drop' }],
  ])("an engine made with %s", (_, options) => {
    expect(() => new Engine(loose(options))).toThrow(expect.objectContaining(invalidArgument) as Error);
  });
});

describe("what the database refuses", () => {
  const refused: readonly (readonly [string, object, Act])[] = [
    ["an unknown queue, to enqueue", queueNotFound, (e, call) => e.enqueue({ type: "t", queue: "nowhere" }, call)],
    ["an unknown queue, for many", queueNotFound, (e, call) => e.enqueueMany("t", [1, 2], { queue: "nowhere" }, call)],
    [
      "an unknown queue, for one of a batch",
      queueNotFound,
      (e, call) => e.enqueueEach([{ type: "t" }, { type: "t", queue: "nowhere" }], call),
    ],
    ["an unknown queue, to claim", queueNotFound, (e, call) => e.claim({ queues: ["default", "nowhere"] }, call)],
    ["an unknown queue, to list", queueNotFound, (e, call) => e.list({ queue: "nowhere" }, call)],
    ["an unknown queue, to count", queueNotFound, (e, call) => e.queueDepth("nowhere", call)],
    ["an unknown queue, to pause", queueNotFound, (e, call) => e.queuePause("nowhere", {}, call)],
    ["an unknown queue, to purge", queueNotFound, (e, call) => e.queuePurge("nowhere", call)],
    ["an unknown queue, to redrive", queueNotFound, (e, call) => e.queueRedrive("nowhere", {}, call)],
    [
      "an unknown queue, for dead letters",
      queueNotFound,
      (e, call) => e.queuePut("fresh", { deadLetterQueue: "nowhere" }, call),
    ],
    ["an id that does not exist, to complete", jobNotFound, (e, call) => e.complete({ id: "1", token }, 1, call)],
    [
      "an id that does not exist, to fail",
      jobNotFound,
      (e, call) => e.fail({ id: "1", token }, { message: "no" }, call),
    ],
    [
      "an id that does not exist, to retry",
      jobNotFound,
      (e, call) => e.retryLater({ id: "1", token }, undefined, 0, call),
    ],
    ["an id that does not exist, to release", jobNotFound, (e, call) => e.release({ id: "1", token }, 0, call)],
    ["an id that does not exist, to start", jobNotFound, (e, call) => e.start({ id: "1", token }, call)],
    [
      "an id that does not exist, to settle",
      jobNotFound,
      (e, call) => e.settle([{ token, outcome: "succeeded", jobs: ["1"] }], undefined, call),
    ],
    ["an id that does not exist, to cancel", jobNotFound, (e, call) => e.cancel(["1"], "why", call)],
    ["an id that does not exist, to revive", jobNotFound, (e, call) => e.retry(1, { ids: ["1"] }, call)],
    ["an id that does not exist, for progress", jobNotFound, (e, call) => e.progressPut({ id: "1", token }, 1, call)],
    [
      "an id that does not exist, for its visibility",
      jobNotFound,
      (e, call) => e.setVisibility({ id: "1", token }, 1, call),
    ],
    ["an id that does not exist, for its payload", jobNotFound, (e, call) => e.payloadRead("1", 0, 1, call)],
    [
      "a run time and a delay together",
      invalidArgument,
      (e, call) => e.enqueue({ type: "t", runAt: new Date(), delaySeconds: 1 }, call),
    ],
    [
      "an expiry in the past",
      invalidArgument,
      (e, call) => e.enqueue({ type: "t", expiresAt: "2001-01-01T00:00:00Z" }, call),
    ],
    ["a claim of no jobs", invalidArgument, (e, call) => e.claim({ limit: 0 }, call)],
    ["a lease of no time", invalidArgument, (e, call) => e.claim({ leaseSeconds: 0 }, call)],
    ["a state that is none", invalidArgument, (e, call) => e.list({ state: loose("done") }, call)],
    ["a queue's name with a space", invalidArgument, (e, call) => e.queuePut("my queue", {}, call)],
  ];

  it.each(refused)("%s: typed, nothing written, and a savepoint brings the transaction back", async (_, error, act) => {
    const before = await rowCounts();
    await expect(act(db.engine, {})).rejects.toMatchObject(error);
    expect(await rowCounts()).toEqual(before);

    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("insert into public.orders default values");
    await tx.query("savepoint s");
    await expect(act(db.engine, { tx })).rejects.toMatchObject(error);
    await tx.query("rollback to s");
    await expect(db.engine.enqueue({ type: "goes-on" }, { tx })).resolves.toMatchObject({ duplicate: false });
    await tx.query("commit");
    await tx.end();
  });

  it("every refusal is one of ours, with the driver's error as its cause", async () => {
    const error: unknown = await db.engine.queueDepth("nowhere").catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({ message: expect.stringContaining("nowhere"), cause: { code: "MR003" } });
  });

  it("an id that does not exist is simply not there, to read", async () => {
    expect(await db.engine.get("1")).toBeNull();
  });
});

describe("a token of another claim", () => {
  it("is refused by every report, changes nothing, and leaves the caller's transaction usable", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    await db.engine.enqueue({ type: "t", queue });
    const [mine, other] = [await claimOne(db, queue), await claimOne(db, queue)];
    const wrong = { id: mine.id, token: other.token };
    const before = await db.engine.get(mine.id);
    const tx = await db.connect();
    await tx.query("begin");
    for (const act of [
      () => db.engine.complete(wrong, 1, { tx }),
      () => db.engine.fail(wrong, undefined, { tx }),
      () => db.engine.retryLater(wrong, undefined, 0, { tx }),
      () => db.engine.release(wrong, 0, { tx }),
      () => db.engine.start(wrong, { tx }),
      () => db.engine.setVisibility(wrong, 0, { tx }),
      () => db.engine.progressPut(wrong, 1, { tx }),
      () => db.engine.deadLetter(wrong, "default", undefined, { tx }),
    ])
      await expect(act()).rejects.toMatchObject({ ...leaseLost, jobIds: [mine.id] });
    expect(await db.engine.completeMany(other.token, [mine.id], undefined, { tx })).toEqual([mine.id]);
    await tx.query("insert into public.orders default values");
    await tx.query("commit");
    expect(await db.engine.get(mine.id)).toEqual(before);
    await db.engine.complete(mine);
    await db.engine.complete(other);
  });
});

describe("a payload at the limit", () => {
  it("is refused, one byte less is accepted; nothing is written [#41]", async () => {
    const queue = await newQueue(db);
    const job = (size: number) => ({ type: "t", queue, payload: new Uint8Array(size) });
    await db.sql("update cell set payload_limit = 1000");
    try {
      const before = await rowCounts();
      await expect(db.engine.enqueue(job(1000))).rejects.toMatchObject(payloadRefused);
      await expect(db.engine.enqueueEach([job(999), job(1000)])).rejects.toMatchObject(payloadRefused);
      await expect(db.engine.enqueueStream({ type: "t", queue }, 1000, [new Uint8Array(1000)])).rejects.toMatchObject(
        payloadRefused,
      );
      expect(await rowCounts()).toEqual(before);
      await db.engine.enqueue(job(999));
      await db.engine.enqueueStream({ type: "t", queue }, 999, [new Uint8Array(999)]);
    } finally {
      await db.sql("update cell set payload_limit = default");
    }
  });

  it.each([
    ["of 256,000,000 bytes", { type: "t" }, 256_000_000, payloadRefused],
    ["with an unknown option", loose({ type: "t", ttl: 1 }), 1, invalidArgument],
    ["of an impossible size", { type: "t" }, -1, invalidArgument],
  ])(
    "that is streamed %s is refused before a byte of it is read, and the transaction goes on [#41]",
    async (_, job, size, error) => {
      const tx = await db.connect();
      await tx.query("begin");
      let read = 0;
      const bytes = function* () {
        read += 1;
        yield new Uint8Array(1);
      };
      await expect(db.engine.enqueueStream(job, size, bytes(), { tx })).rejects.toMatchObject(error);
      expect(read).toBe(0);
      await expect(tx.query("insert into public.orders default values")).resolves.toBeDefined();
      await tx.query("commit");
    },
  );
});

describe("text with NUL where JSON carries it", () => {
  it("in an error is recorded, its unspeakable characters replaced, and does not stop the others' reports", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", [1, 2], { queue, maxAttempts: 1 });
    const [bad, good] = [await claimOne(db, queue), await claimOne(db, queue)];
    const { refused } = await db.engine.settle([
      { token: bad.token, outcome: "failed", jobs: [bad.id], error: { message: `exit 1: ${nul}`, stack: "\ud800" } },
      { token: good.token, outcome: "succeeded", jobs: [good.id] },
    ]);
    expect(refused).toEqual([]);
    expect(await jobOf(db, bad.id)).toMatchObject({
      state: "failed",
      lastError: { message: expect.stringMatching(/^exit 1: a.b$/s) },
    });
    expect((await jobOf(db, good.id)).state).toBe("succeeded");
  });

  it("in a result is refused by complete and by settle alike, and the lease stays", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue);
    await expect(db.engine.complete(job, { out: nul })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.completeMany(job.token, [job.id], [{ out: nul }])).rejects.toMatchObject(invalidArgument);
    await expect(
      db.engine.settle([{ token: job.token, outcome: "succeeded", jobs: [job.id], results: [{ out: nul }] }]),
    ).rejects.toMatchObject(invalidArgument);
    await db.engine.complete(job, { out: "readable" });
    expect((await jobOf(db, job.id)).result).toEqual({ out: "readable" });
  });

  it("in headers never makes a lane that cannot be claimed from", async () => {
    const queue = await newQueue(db);
    for (const headers of [{ h: nul }, { h: "\ud800" }]) {
      await db.engine
        .enqueueMany("t", [1], { queue, headers })
        .catch((error: unknown) => expect(error).toMatchObject(invalidArgument));
      await db.engine
        .enqueueEach([{ type: "t", queue, headers }])
        .catch((error: unknown) => expect(error).toMatchObject(invalidArgument));
    }
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const claimed = await db.engine.claim({ queues: [queue], limit: 10 });
    expect(claimed.map((job) => job.id)).toContain(id);
  });
});

describe("plain SQL", () => {
  it.each([
    ["an unknown option", `select job_enqueue('t', null, '{"prio": 1}')`, "MR001"],
    ["an unknown default", `select queue_put('q', '{"lease": 1}')`, "MR001"],
    ["priority 11", `select job_enqueue('t', null, '{"priority": 11}')`, "MR001"],
    ["priority 2.5", `select job_enqueue_many('[1]', '{"type": "t", "priority": 2.5}')`, "MR001"],
    ["a negative delay", `select job_enqueue('t', null, '{"delaySeconds": -1}')`, "MR001"],
    ["no type", `select job_enqueue(null)`, "MR001"],
    ["an empty type", `select job_enqueue('')`, "MR001"],
    ["options that are a list", `select job_enqueue('t', null, '[]')`, "MR001"],
    ["options that are JSON null", `select job_enqueue('t', null, 'null')`, "MR001"],
    ["options that are NULL", `select job_enqueue('t', null, null)`, "MR001"],
    ["inputs that are no list", `select job_enqueue_many('{}', '{"type": "t"}')`, "MR001"],
    ["fewer options than inputs", `select job_enqueue_many('[1, 2]', '[{"type": "t"}]')`, "MR001"],
    ["options of one job that are no object", `select job_enqueue_many('[1]', '[3]')`, "MR001"],
    ["settlements that are no list", `select job_settle('{}')`, "MR001"],
    [
      "jobs in lists in lists",
      `select job_settle('[{"token": "${token}", "outcome": "succeeded", "jobs": ${"[".repeat(400)}${"]".repeat(400)}}]')`,
      "MR001",
    ],
    ["an unknown outcome", `select job_settle('[{"token": "${token}", "outcome": "done", "jobs": ["1"]}]')`, "MR001"],
    ["a claim without a limit", `select job_claim(p_limit => null)`, "MR001"],
    ["a lease that is no number", `select job_claim(p_lease_seconds => 'NaN')`, "MR001"],
    ["a visibility that is no number", `select job_set_visibility('${token}', 1, 'NaN')`, "MR001"],
    ["a job that does not exist", `select job_cancel('{1}')`, "MR002"],
    ["a NULL among the ids", `select job_cancel('{null}')`, "MR002"],
    ["an unknown queue", `select job_claim('{nowhere}')`, "MR003"],
    ["an unknown queue for a job", `select job_enqueue('t', null, '{"queue": "nowhere"}')`, "MR003"],
    ["JSON that is none", `select job_enqueue('t', '{"a":')`, "22P02"],
    ["options that are no JSON", `select job_enqueue('t', null, '{priority: 1}')`, "22P02"],
    ["NUL in a text option", `select job_enqueue('t', null, '{"tenant": "\\u0000"}')`, "MR001"],
  ])("refuses %s with a stable SQLSTATE, before anything is written", async (_, text, code) => {
    const before = await rowCounts();
    await expect(db.sql(text)).rejects.toMatchObject({ code });
    expect(await rowCounts()).toEqual(before);
  });

  it("returns the ids a token does not hold, and the transaction goes on", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const tx = await db.connect();
    await tx.query("begin");
    expect((await tx.query("select job_complete($1, array[$2::bigint]) as refused", [token, id])).rows).toEqual([
      { refused: [id] },
    ]);
    await tx.query("insert into public.orders default values");
    await tx.query("commit");
  });

  it("refuses a claim in a repeatable read transaction with its own code", async () => {
    const tx = await db.connect();
    await tx.query("begin isolation level repeatable read");
    await expect(db.engine.claim({}, { tx })).rejects.toMatchObject({ name: "WrongIsolationError", code: "MR007" });
    await tx.query("rollback");
  });

  it("refuses to cancel or purge there too: an old snapshot would decide on what is no longer true [#29]", async () => {
    const { id } = await db.engine.enqueue({ type: "t" });
    const tx = await db.connect();
    for (const call of [
      () => db.engine.cancel([id], undefined, { tx }),
      () => db.engine.queuePurge("default", { tx }),
    ]) {
      await tx.query("begin isolation level repeatable read");
      await expect(call()).rejects.toMatchObject({ code: "MR007" });
      await tx.query("rollback");
    }
    expect(await db.engine.cancel([id])).toBe(1);
  });
});

describe("a schema that is not this release's", () => {
  const schema = "other";
  const nextRelease = {
    ...thisRelease,
    migrations: [...thisRelease.migrations, { number: 99, name: "next", checksum: "x", text: "select 1" }],
  };
  beforeAll(() => migrate(db.pool, { schema }));

  it("is refused when it is missing, and the message names the command", async () => {
    const engine = new Engine({ pool: db.pool, schema: "missing" });
    await expect(engine.check()).rejects.toMatchObject({
      ...schemaVersion,
      remedy: 'run "millrace migrate --schema missing"',
    });
    await expect(engine.enqueue({ type: "t" })).rejects.toMatchObject(schemaVersion);
  });

  it("is refused when it is older", async () => {
    await expect(checkSchema(db.pool, { schema, release: nextRelease })).rejects.toMatchObject({
      ...schemaVersion,
      remedy: 'run "millrace migrate --schema other"',
    });
  });

  it("is refused when it is newer, by the check and by migrate", async () => {
    await db.sql("insert into other.migration (number, name, checksum) values (99, 'next', 'x')");
    try {
      await expect(new Engine({ pool: db.pool, schema }).check()).rejects.toMatchObject({
        ...schemaVersion,
        remedy: "upgrade millrace",
      });
      await expect(migrate(db.pool, { schema })).rejects.toMatchObject(schemaVersion);
    } finally {
      await db.sql("delete from other.migration where number = 99");
    }
    await expect(new Engine({ pool: db.pool, schema }).check()).resolves.toBeUndefined();
  });

  it("is refused when it was restored from another server, by the check and by every verb", async () => {
    const engine = new Engine({ pool: db.pool, schema });
    await db.sql("update other.cell set floor_xid = 1000000000000");
    try {
      await expect(engine.check()).rejects.toMatchObject(schemaRestored);
      await expect(engine.enqueue({ type: "t" })).rejects.toMatchObject(schemaRestored);
      await expect(engine.enqueueMany("t", [1])).rejects.toMatchObject(schemaRestored);
    } finally {
      await engine.cellRepair();
    }
    await expect(engine.check()).resolves.toBeUndefined();
    expect(await engine.enqueue({ type: "t" })).toMatchObject({ duplicate: false });
  });
});

describe("a database that goes away", () => {
  it("is told as unavailable when nobody listens", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    for (const host of ["127.0.0.1", "localhost"]) {
      const pool = new pg.Pool({ host, port, user: "postgres", database: "postgres" });
      const engine = new Engine({ pool });
      for (const call of [
        () => engine.enqueue({ type: "t" }),
        () => engine.claim(),
        () => engine.check(),
        () => engine.enqueueStream({ type: "t" }, 1, [new Uint8Array(1)]),
        () => migrate(pool),
      ]) {
        await expect(call()).rejects.toMatchObject(databaseUnavailable);
      }
      await pool.end();
    }
  });

  it("is told as unavailable when the database itself is gone", async () => {
    const gone = new URL(db.url);
    gone.pathname = "/dropped_yesterday";
    const pool = new pg.Pool({ connectionString: gone.href });
    await expect(new Engine({ pool }).enqueue({ type: "t" })).rejects.toMatchObject(databaseUnavailable);
    await pool.end();
  });

  it("is told as unavailable when the connection of the transaction was ended, and nothing of it is left", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const { id } = await db.engine.enqueue({ type: "t", queue }, { tx });
    const ended = new Promise((resolve) => tx.once("end", resolve));
    await db.sql("select pg_terminate_backend($1)", [await pidOf(tx)]);
    await ended;
    await expect(db.engine.enqueue({ type: "t", queue }, { tx })).rejects.toMatchObject(databaseUnavailable);
    expect(await db.engine.get(id)).toBeNull();
  });

  it("is told as unavailable in the middle of a call, and the next call finds a new connection", async () => {
    const queue = await newQueue(db);
    const pool = new pg.Pool({ connectionString: db.url, max: 1 });
    pool.on("error", () => {});
    const engine = new Engine({ pool });
    const holder = await db.connect();
    await holder.query("begin");
    await db.engine.enqueue({ type: "t", queue, fingerprint: "f" }, { tx: holder });
    const call = engine.enqueue({ type: "t", queue, fingerprint: "f" });
    const outcome = expect(call).rejects.toMatchObject(databaseUnavailable);
    await waitersOf(db, holder, 1);
    await db.sql("select pg_terminate_backend(pid) from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [
      await pidOf(holder),
    ]);
    await outcome;
    await holder.query("rollback");
    expect(await engine.enqueue({ type: "t", queue, fingerprint: "f" })).toMatchObject({ duplicate: false });
    await pool.end();
  });

  it("in the middle of a stream leaves no half job behind", async () => {
    const queue = await newQueue(db);
    const pool = new pg.Pool({ connectionString: db.url, max: 1 });
    pool.on("error", () => {});
    const piece = 1_048_576;
    const bytes = async function* () {
      yield new Uint8Array(piece);
      await db.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
      );
      yield new Uint8Array(piece);
    };
    await expect(new Engine({ pool }).enqueueStream({ type: "t", queue }, 2 * piece, bytes())).rejects.toMatchObject(
      databaseUnavailable,
    );
    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await pool.end();
  });
});
