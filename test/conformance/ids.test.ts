import pg from "pg";
import { describe, expect, it } from "vitest";
import { createdAt } from "../../src/db/decode.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();

describe("a job's id", () => {
  it("is a 64-bit number that reaches JavaScript whole, as a string [#43]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    expect(BigInt(id)).toBeGreaterThan(2n ** 53n);
    expect(BigInt(id)).toBeLessThan(2n ** 63n);
    const [stored] = await db.sql("select id::text from jobs where queue = $1", [queue]);
    expect(stored).toEqual({ id });
    expect([
      (await jobOf(db, id)).id,
      ...idsOf(await db.engine.list({ queue })),
      ...(await claimIds(db, queue)),
    ]).toEqual([id, id, id]);
  });

  it("survives a driver that was told to read bigints as numbers [#43]", async () => {
    const queue = await newQueue(db);
    const parser = pg.types.getTypeParser(pg.types.builtins.INT8);
    pg.types.setTypeParser(pg.types.builtins.INT8, Number);
    try {
      const { id } = await db.engine.enqueue({ type: "t", queue });
      const [many] = await db.engine.enqueueMany("t", [1], { queue });
      expect((await db.engine.list({ queue })).map((job) => job.id)).toEqual([many!.id, id]);
      const [job] = await db.engine.claim({ queues: [queue], limit: 2 });
      expect((await db.engine.claimExtend([job!.token])).get(job!.token)?.jobIds).toEqual([id, many!.id]);
      await db.engine.complete(job!);
      expect((await db.engine.outcomes([id])).map((outcome) => outcome.id)).toEqual([id]);
    } finally {
      pg.types.setTypeParser(pg.types.builtins.INT8, parser as (text: string) => unknown);
    }
  });

  it.each([
    [
      "job_claim_json",
      (queue: string) => db.sql("select job_claim_json(array[$1], p_limit => 2)::text as json", [queue]),
    ],
    ["job_get", (_: string, id: string) => db.sql("select job_get($1)::text as json", [id])],
    [
      "job_settle",
      async (queue: string, id: string) => {
        const { token } = await claimOne(db, queue);
        return db.sql("select job_settle($1)::text as json", [
          JSON.stringify([{ token, outcome: "succeeded", jobs: [id] }]),
        ]);
      },
    ],
  ])("is a string in the JSON of %s, for readers that parse numbers as doubles [#43]", async (_, call) => {
    const queue = await newQueue(db);
    const done = await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue));
    await enqueue(db, queue);
    const [row] = await call(queue, done);
    expect(row!["json"]).toMatch(/"\d{17,}"/);
    expect(row!["json"]).not.toMatch(/[:[,]\s*\d{17,}/);
  });

  it("rises in the order of a session's inserts, whichever way they are made [#43]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    const ids: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      ids.push(await enqueue(db, queue, {}, { tx }));
      ids.push(...idsOf(await db.engine.enqueueMany("work", [1, 2, 3], { queue }, { tx })));
      ids.push(
        ...idsOf(
          await db.engine.enqueueEach(
            [
              { type: "a", queue },
              { type: "b", queue, delaySeconds: 60 },
              { type: "c", queue, fingerprint: `f${round}` },
            ],
            { tx },
          ),
        ),
      );
    }
    expect(ids).toEqual([...ids].sort((a, b) => Number(BigInt(a) - BigInt(b))));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("belongs to the input in the same place, in a batch larger than its counter [#43]", async () => {
    const queue = await newQueue(db);
    const inputs = Array.from({ length: 20_000 }, (_, i) => i);
    const ids = idsOf(await db.engine.enqueueMany("work", inputs, { queue }));
    const rows = await db.sql<{ input: number }>(
      "select j.input from unnest($1::bigint[]) with ordinality u (id, i) join jobs j on j.id = u.id order by u.i",
      [ids],
    );
    expect(rows.map((row) => row.input)).toEqual(inputs);
  });

  it("is unique among sessions that enqueue at once [#43]", async () => {
    const queue = await newQueue(db);
    const ids = (
      await Promise.all(
        Array.from({ length: 20 }, async () =>
          idsOf(await db.engine.enqueueMany("work", Array.from({ length: 500 }), { queue })),
        ),
      )
    ).flat();
    expect(new Set(ids).size).toBe(10_000);
  });

  it("is unique by constraint [#43]", async () => {
    const id = await enqueue(db, await newQueue(db));
    await expect(insertAgain(id, "slot")).rejects.toMatchObject({ code: "23505" });
  });

  it("is unique by constraint also across partitions [#43]", async () => {
    const id = await enqueue(db, await newQueue(db));
    await expect(insertAgain(id, "(slot + 1) % 32")).rejects.toMatchObject({ code: expect.stringMatching(/^23/) });
  });

  it("is known before the transaction that makes the job commits [#58]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const ids = [
      await enqueue(db, queue, {}, { tx }),
      ...idsOf(await db.engine.enqueueMany("work", [1, 2], { queue }, { tx })),
    ];
    expect(await Promise.all(ids.map((id) => db.engine.get(id)))).toEqual([null, null, null]);
    await tx.query("commit");
    expect(await Promise.all(ids.map((id) => stateOf(db, id)))).toEqual(["ready", "ready", "ready"]);
  });

  it("is returned by plain SQL too [#58]", async () => {
    const [row] = await db.sql("select job_id::text as id from job_enqueue('work')");
    expect(await jobOf(db, row!["id"])).toMatchObject({ id: row!["id"], state: "ready" });
  });

  it("holds the time of the enqueue [#43]", async () => {
    const id = await enqueue(db, await newQueue(db));
    expect(createdAt(id)).toEqual((await jobOf(db, id)).createdAt);
  });

  function insertAgain(id: string, slot: string) {
    return db.sql(
      `insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type)
      select id, xid, run_at, queue_id, max_attempts, ${slot}, priority, type from job where id = $1`,
      [id],
    );
  }
});
