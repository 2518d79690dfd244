import pg from "pg";
import { describe, expect, it } from "vitest";
import type { NewJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";
import { suspend, waitingRun } from "../support/runs.js";
import { miscounts } from "../support/steps.js";
import { until } from "../support/wait.js";
import { millrace } from "./cli.js";
import { startTransactionPooler } from "./transaction-pooler.js";

const db = useDatabase();

interface Finding {
  readonly check: string;
  readonly state: "ok" | "wrong" | "skipped";
  readonly message: string;
  readonly remedy?: string;
}

async function examine(
  args: readonly string[] = [],
  url = db.url,
): Promise<{ code: number | null; wrong: Finding[]; all: Finding[] }> {
  const { code, stdout } = await millrace(["doctor", "--json", ...args], { url });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, all: findings, wrong: findings.filter(({ state }) => state === "wrong") };
}

describe("doctor", () => {
  it("finds nothing wrong with a new database", async () => {
    const [{ code, stdout, stderr }, { all }] = await Promise.all([millrace(["doctor"], { url: db.url }), examine()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/✔ server +PostgreSQL \d+/);
    expect(stdout).toMatch(/✔ sizes +control tables have [^]*\n\nnothing is wrong\n$/);
    expect([...new Set(all.map(({ check }) => check))]).toEqual([
      "server",
      "schema",
      "snapshots",
      "indexes",
      "pooler",
      "clock",
      "locks",
      "maintenance",
      "counts",
      "waits",
      "held",
      "handlers",
      "hooks",
      "sizes",
    ]);
  });

  it("says what holds jobs back, and takes an open breaker and an old pause for wrong", async () => {
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 600 } });
    await db.engine.enqueueMany("newsletter", [1, 2, 3], { queue });
    await db.engine.queuePause(queue, { type: "newsletter", by: "bob", because: "a wrong text" });
    const held = async (): Promise<Finding> => (await examine()).all.find(({ check }) => check === "held")!;
    expect(await held()).toMatchObject({
      state: "ok",
      message: expect.stringMatching(
        `^queue "${queue}": 3 jobs of 3 that wait are blocked. 3 jobs: type "newsletter" is paused .* by "bob": a wrong text$`,
      ),
    });
    await db.sql("update millrace.pause set paused_at = paused_at - interval '2 days'");
    expect(await held()).toMatchObject({
      state: "wrong",
      remedy: `"millrace queues resume ${queue} --type newsletter" when it is no longer wanted`,
    });
    await db.engine.queueResume(queue, { type: "newsletter" });
    await db.engine.fail(await claimOne(db, queue), { message: "503" });
    const open = await held();
    expect(open).toMatchObject({
      state: "wrong",
      message: expect.stringContaining('the breaker of "newsletter" is open'),
    });
    expect(open.remedy).toContain(`millrace breakers reset --queue ${queue} --type newsletter`);
    await db.engine.queuePurge(queue);
    expect(await held()).toEqual({ check: "held", state: "ok", message: "no job is blocked" });
  });

  it("finds what holds back vacuum", async () => {
    const session = await db.connect();
    await session.query("begin isolation level repeatable read");
    await session.query("select 1");
    const [{ pid }] = (await session.query("select pg_backend_pid() as pid")).rows as [{ pid: number }];
    const slot = `doctor_${process.pid}_${Date.now()}`;
    await db.sql("select pg_create_physical_replication_slot($1, true)", [slot]);
    try {
      const { code, wrong } = await examine(["--max-snapshot-age", "1ms"]);
      expect(code).toBe(1);
      expect(wrong).toEqual(
        expect.arrayContaining([
          {
            check: "snapshots",
            state: "wrong",
            message: expect.stringContaining(`process ${pid}`),
            remedy: expect.stringContaining(`pg_terminate_backend(${pid})`),
          },
          {
            check: "snapshots",
            state: "wrong",
            message: expect.stringContaining(slot),
            remedy: expect.stringContaining(`pg_drop_replication_slot('${slot}')`),
          },
        ]),
      );
    } finally {
      await session.query("rollback");
      await db.sql("select pg_drop_replication_slot($1)", [slot]);
    }
  });

  it("names a session that keeps others from claiming, as any role that may read", async () => {
    await db.engine.enqueueEach([{ type: "held" }, { type: "held-too" }, { type: "free" }]);
    await db.engine.maintain();
    const role = `stranger_${process.pid}_${Date.now()}`;
    await db.sql(`create role ${role} login password 'test'`);
    const url = new URL(db.url);
    url.username = role;
    url.password = "test";
    const stranger = new pg.Client({ connectionString: url.href, application_name: "strange" });
    const locks = async (args: readonly string[] = ["--max-snapshot-age", "1ms"]): Promise<Finding[]> =>
      (await examine(args, url.href)).all.filter(({ check }) => check === "locks");
    try {
      await db.engine.roleGrant(role, "reader");
      await stranger.connect();
      const keys = await db.sql<{ key: string }>(
        "select lane_lock(key)::text as key from lane where type in ('held', 'held-too')",
      );
      await stranger.query("select pg_advisory_lock(1), pg_advisory_lock(5, 7)"); // somebody's own
      expect(await locks()).toMatchObject([{ state: "ok" }]);
      for (const { key } of keys) await stranger.query("select pg_advisory_lock($1)", [key]);
      expect(await locks([])).toMatchObject([{ state: "ok" }]); // not for long yet
      const [{ pid }] = (await stranger.query("select pg_backend_pid() as pid")).rows as [{ pid: number }];
      const found = {
        check: "locks",
        state: "wrong",
        message: expect.stringMatching(
          new RegExp(`^process ${pid} of ${role} \\(strange\\) holds locks of 2 lanes, since 2\\S+Z \\(`),
        ),
        remedy: expect.stringContaining(`pg_terminate_backend(${pid})`),
      };
      expect(await locks()).toEqual([found]);
      await stranger.query("select pg_advisory_unlock_all()");
      await stranger.query("begin");
      for (const verb of ["lane_flag", "lane_entry", "lane_birth"]) {
        const [{ key }] = (await db.sql<{ key: string }>(
          `select ${verb}(key)::text as key from lane where type = 'free'`,
        )) as [{ key: string }];
        await stranger.query("select pg_advisory_xact_lock_shared($1)", [key]);
      }
      expect(await locks()).toMatchObject([{ message: expect.stringContaining("holds locks of 1 lane,") }]);
      await stranger.query("rollback");
      expect(await locks()).toMatchObject([{ state: "ok" }]);
    } finally {
      await stranger.end();
      await db.sql(`drop owned by ${role}`);
      await db.sql(`drop role ${role}`);
    }
  });

  it("finds a missing index, and says how to make it", async () => {
    await db.sql("alter table job_07 drop constraint job_07_pkey");
    await db.sql("drop index ticket_3_position");
    const { wrong } = await examine();
    expect(wrong.map(({ check }) => check)).toEqual(["indexes", "indexes"]);
    for (const { remedy } of wrong) await db.sql(/run: (.*?);/.exec(remedy!)![1]!);
    expect((await examine()).wrong).toEqual([]);
  });

  it("finds a transaction pooler", async () => {
    const pooler = await startTransactionPooler(db.url);
    try {
      const { wrong } = await examine([], pooler.url);
      expect(wrong).toEqual([
        {
          check: "pooler",
          state: "wrong",
          message: expect.stringContaining("transaction pooler"),
          remedy: expect.stringContaining("prepare: false"),
        },
        {
          check: "pooler",
          state: "wrong",
          message: "a notification did not arrive",
          remedy: expect.stringContaining("polling"),
        },
      ]);
    } finally {
      await pooler.close();
    }
  });

  it("looks at what it may, as a role with few rights", async () => {
    const role = `doctor_${process.pid}_${Date.now()}`;
    await db.sql(`create role ${role} login password 'test'`);
    try {
      const url = new URL(db.url);
      url.username = role;
      url.password = "test";
      expect((await examine([], url.href)).wrong).toMatchObject([
        { check: "schema", remedy: expect.stringContaining("role_grant('this role', 'reader')") },
      ]);
      await db.engine.roleGrant(role, "reader");
      const { all } = await examine([], url.href);
      expect(all.filter(({ state }) => state === "skipped").map(({ check }) => check)).toEqual([
        "snapshots",
        "maintenance",
      ]);
    } finally {
      await db.sql(`drop owned by ${role}`);
      await db.sql(`drop role ${role}`);
    }
  });

  it("finds maintenance that lags, and clocks that differ", async () => {
    await db.engine.enqueue({ type: "claimed" });
    await claimOne(db, "default", { leaseSeconds: 30 });
    await db.engine.enqueue({ type: "delayed", delaySeconds: 60 });
    await db.moveClock(600);
    await db.sql("insert into tally (lane, ready) select 2, 0 from generate_series(1, 100001)");
    const notOfWorkers = ({ check }: Finding): boolean => check !== "handlers";
    expect((await examine()).wrong.filter(notOfWorkers)).toMatchObject([
      {
        check: "clock",
        message: expect.stringMatching(/^the database's clock is (10 min|9 min 59).* ahead of this machine's$/),
      },
      { check: "maintenance", message: expect.stringMatching(/^1 claim ended up to 9 min/) },
      { check: "maintenance", message: expect.stringMatching(/^1 delayed job came due up to (9 min|8 min 59)/) },
      { check: "maintenance", message: expect.stringContaining("100,000 changes of depth") },
    ]);
    await db.engine.maintain();
    await db.engine.maintain();
    expect((await examine()).wrong.filter(notOfWorkers).map(({ check }) => check)).toEqual(["clock"]);
  });

  it("finds counts that are not what the logs say, and that they were put right", async () => {
    await db.engine.queuePut("counted");
    await db.engine.enqueueMany("of-many", [1, 2], { queue: "counted" });
    await db.engine.enqueue({ type: "of-many", queue: "counted", delaySeconds: 36_000 });
    await db.engine.maintain();
    const counts = async (): Promise<Finding[]> => (await examine()).all.filter(({ check }) => check === "counts");
    expect(await counts()).toMatchObject([{ state: "ok" }]);
    await db.sql("insert into tally (lane, ready) select key, 3 from lane where type = 'of-many'");
    expect(await counts()).toEqual([
      {
        check: "counts",
        state: "wrong",
        message: 'queue "counted", type "of-many": 5 ready, 1 delayed are counted, 2 ready, 1 delayed wait',
        remedy: expect.stringContaining("upkeep puts this right by itself"),
      },
    ]);
    await until("upkeep has found it", async () => {
      await db.engine.maintain();
      return (await miscounts(db)).length === 0;
    });
    expect(await counts()).toEqual([
      {
        check: "counts",
        state: "wrong",
        message: "counts were wrong and put right 1 time within a week",
        remedy: expect.stringContaining("millrace queues events"),
      },
    ]);
    await db.moveClock(8 * 86_400);
    expect(await counts()).toMatchObject([{ state: "ok" }]);
  });

  it("finds jobs that wait in vain: for a signal that nobody sends, for children that are gone or untold", async () => {
    const waits = async (): Promise<Finding[]> => (await examine()).all.filter(({ check }) => check === "waits");
    const queue = await newQueue(db);
    const waiting = async (type: string, wait: object, options: Partial<NewJob> = {}): Promise<string> => {
      const id = await enqueue(db, queue, { type, ...options });
      await suspend(db, await claimOne(db, queue, { types: [type] }), [{ key: "wait", ...wait }]);
      return id;
    };
    const forgotten = await waiting("forgotten", { signals: ["approved", "rejected"] });
    await waiting("with-a-timeout", { signals: ["approved"], seconds: 100 * 86_400 });
    await waiting("with-a-deadline", { signals: ["approved"] }, { deadline: new Date(Date.now() + 100 * 86_400_000) });
    const { id, children } = await waitingRun(db, queue);
    await db.moveClock(29 * 86_400);
    expect(await waits()).toMatchObject([{ state: "ok" }]);
    await db.moveClock(2 * 86_400);
    expect(await waits()).toEqual([
      {
        check: "waits",
        state: "wrong",
        message: expect.stringMatching(
          new RegExp(
            `^1 job of type "forgotten" .* ${forgotten}, has .* 30 days for a signal \\(approved, rejected\\)`,
          ),
        ),
        remedy: expect.stringContaining(`millrace tell ${forgotten} NAME`),
      },
    ]);
    await db.engine.tell(forgotten, "approved");
    await db.engine.noticesDeliver();
    expect(await waits()).toMatchObject([{ state: "ok" }]);

    await db.engine.complete(await claimOne(db, queue, { types: ["pack"] }));
    expect(await waits(), "it has just ended").toMatchObject([{ state: "ok" }]);
    await db.moveClock(120);
    expect(await waits()).toMatchObject([
      {
        message: expect.stringMatching(new RegExp(`"order" .* ${id}, waits for children that have ended, such as`)),
        remedy: expect.stringContaining("notices_deliver()"),
      },
    ]);
    await db.engine.noticesDeliver();
    expect(await waits()).toMatchObject([{ state: "ok" }]);

    const known = (types: readonly string[]): Promise<unknown> =>
      db.sql(
        `insert into worker_process
         values ('here', $1, 0, 0, 0, clock_now(), clock_now(), clock_now() + interval '1 hour')
         on conflict (id) do update set facts = excluded.facts`,
        [JSON.stringify({ workers: [{ queues: [queue], types }] })],
      );
    await known(["order", "with-a-deadline"]);
    expect(await waits()).toMatchObject([
      {
        message: expect.stringMatching(/^1 job of type "with-a-timeout" .* is suspended, and no worker that is known/),
        remedy: expect.stringContaining("worker.handle"),
      },
    ]);
    await known(["order", "with-a-deadline", "with-a-timeout"]);
    expect(await waits()).toMatchObject([{ state: "ok" }]);

    await db.sql("delete from job where id = $1", [children[2]]);
    expect(await waits()).toMatchObject([
      {
        message: expect.stringMatching(new RegExp(`${id}, waits for children that are gone, such as ${children[2]}$`)),
        remedy: expect.stringContaining(`millrace jobs cancel ${id}`),
      },
    ]);
  });
});
